import type { Destination, EndpointSettings, Source } from "../../shapes/settings.ts";
import { literal } from "../../words/format.ts";

const HIDDEN = "(hidden)";

/** The settings as `countersign.config.ts`. Secrets, which the server does not tell, are read from the environment. */
export function configFile(sources: readonly Source[]): string {
  return `import { defineConfig } from "countersign";

export default defineConfig({
  sources: ${indent(list(sources.map(sourceText)))},
});
`;
}

function sourceText({ name, writeKey, destinations, blockedEvents, countFiltered }: Source): string {
  return object([
    ["name", literal(name)],
    ["writeKey", writeKey === HIDDEN ? variable(name, "write_key") : literal(writeKey)],
    ["destinations", list(destinations.map((destination) => destinationText(name, destination)))],
    ["blockedEvents", blockedEvents.length > 0 && list(blockedEvents.map(literal))],
    ["countFiltered", countFiltered && "true"],
  ]);
}

function destinationText(source: string, destination: Destination): string {
  const { name, endpoints, signed, enabled, includeFields = [], concurrency } = destination;
  return object([
    ["name", literal(name)],
    ["endpoints", list(endpoints.map((endpoint) => endpointText(`${source}_${name}`, endpoint)))],
    ["secret", signed && variable(source, name, "secret")],
    ["enabled", !enabled && "false"],
    ["includeFields", includeFields.length > 0 && list(includeFields.map(literal))],
    ["concurrency", concurrency !== undefined && String(concurrency)],
  ]);
}

function endpointText(prefix: string, { url, headers = {}, ca }: EndpointSettings): string {
  const entries = Object.entries(headers).map(
    ([name, value]) => [literal(name), value === HIDDEN ? variable(prefix, name) : literal(value)] as const,
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

function variable(...parts: readonly string[]): string {
  return `process.env.${parts
    .join("_")
    .toUpperCase()
    .replaceAll(/[^A-Z0-9]+/g, "_")
    .replace(/^(?=\d)/, "_")}`;
}
