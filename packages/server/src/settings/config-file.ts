import type { EndpointSettings } from "@countersign/sender";
import { HIDDEN } from "./hidden-headers.ts";
import type { DestinationJson, SourceJson } from "./source-json.ts";

/** An environment variable for a value that is hidden, named by where the value stands. */
type Variable = (...parts: readonly string[]) => string;

/**
 * The settings as `countersign.config.ts`. Secrets, which the server does not tell, are read from the environment, each from a
 * variable of its own: an endpoint must not get the credentials of another one.
 */
export function configFile(sources: readonly SourceJson[]): string {
  const variable = createVariables();
  return `import { defineConfig } from "countersign";

export default defineConfig({
  sources: ${indent(list(sources.map((source) => sourceText(source, variable))))},
});
`;
}

function sourceText(
  { name, writeKey, destinations, blockedEvents, countFiltered }: SourceJson,
  variable: Variable,
): string {
  return object([
    ["name", literal(name)],
    ["writeKey", writeKey === HIDDEN ? variable(name, "write_key") : literal(writeKey)],
    ["destinations", list(destinations.map((destination) => destinationText(name, destination, variable)))],
    ["blockedEvents", blockedEvents.length > 0 && list(blockedEvents.map(literal))],
    ["countFiltered", countFiltered && "true"],
  ]);
}

function destinationText(source: string, destination: DestinationJson, variable: Variable): string {
  const { name, endpoints, signed, enabled, includeFields = [], concurrency } = destination;
  return object([
    ["name", literal(name)],
    [
      "endpoints",
      list(endpoints.map((endpoint) => endpointText(endpoint, (header) => variable(source, name, header)))),
    ],
    ["secret", signed && variable(source, name, "secret")],
    ["enabled", !enabled && "false"],
    ["includeFields", includeFields.length > 0 && list(includeFields.map(literal))],
    ["concurrency", concurrency !== undefined && String(concurrency)],
  ]);
}

function endpointText(
  { url, headers = {}, ca }: EndpointSettings,
  variableOf: (header: string) => string,
): string {
  const entries = Object.entries(headers).map(
    ([name, value]) => [literal(name), value === HIDDEN ? variableOf(name) : literal(value)] as const,
  );
  return object([
    ["url", literal(url)],
    ["headers", entries.length > 0 && object(entries)],
    ["ca", ca !== undefined && list([ca].flat().map(literal))],
  ]);
}

function object(entries: readonly (readonly [name: string, value: string | false])[]): string {
  const lines = entries.flatMap(([name, value]) => (value === false ? [] : [`  ${name}: ${indent(value)},`]));
  return `{\n${lines.join("\n")}\n}`;
}

function list(items: readonly string[]): string {
  return items.length === 0 ? "[]" : `[\n${items.map((item) => `  ${indent(item)},`).join("\n")}\n]`;
}

function indent(block: string): string {
  return block.replaceAll("\n", "\n  ");
}

function createVariables(): Variable {
  const taken = new Set<string>();
  /** The last number after each name. */
  const numbers = new Map<string, number>();
  return (...parts) => {
    const name = parts
      .join("_")
      .toUpperCase()
      .replaceAll(/^(?=\d)|[^A-Z0-9]+/g, "_");
    let [unique, number] = [name, numbers.get(name) ?? 1];
    while (taken.has(unique)) unique = `${name}_${(number += 1)}`;
    taken.add(unique);
    numbers.set(name, number);
    return `process.env.${unique}`;
  };
}

/** What would hide or reorder code, and what JavaScript takes for the end of a line. */
const HIDING = /[\p{Cc}\p{Cf}\u2028\u2029]/gu;

/** A text as TypeScript. */
function literal(text: string): string {
  return JSON.stringify(text).replaceAll(HIDING, (character) =>
    character.replaceAll(/[^]/g, (unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, "0")}`),
  );
}
