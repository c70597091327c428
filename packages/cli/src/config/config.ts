import type { ServerOptions } from "@countersign/server";

/** What a config file can set. Paths are relative to the file. */
export type Config = Pick<
  ServerOptions,
  | "to"
  | "secret"
  | "writeKey"
  | "sources"
  | "host"
  | "port"
  | "token"
  | "allowHosts"
  | "data"
  | "record"
  | "retry"
  | "blockPrivateNetworks"
  | "maxConnections"
>;

/**
 * Gives a config file its types: `export default defineConfig({ ... })` in `countersign.config.ts`.
 *
 * @example
 * ```ts
 * import { defineConfig } from "countersign";
 *
 * export default defineConfig({
 *   sources: [
 *     { name: "shop", writeKey: "shop-key", destinations: [{ endpoints: [{ url: "http://localhost:3000/webhooks" }] }] },
 *   ],
 * });
 * ```
 */
export function defineConfig(config: Config): Config {
  return config;
}

type Kind = "string" | "number" | "boolean" | "object" | "list" | "list of texts" | "text or list";

const kinds: { readonly [name in keyof Required<Config>]: Kind } = {
  to: "text or list",
  secret: "string",
  writeKey: "string",
  sources: "list",
  host: "string",
  port: "number",
  token: "string",
  allowHosts: "list of texts",
  data: "string",
  record: "string",
  retry: "object",
  blockPrivateNetworks: "boolean",
  maxConnections: "number",
};

/** What is wrong with the value of a config file, as the end of a sentence; the sender checks what is in `sources`. */
export function configProblem(value: unknown): string | undefined {
  if (!isKind(value, "object"))
    return 'must export an object, for example { to: "http://localhost:3000/webhooks" }';
  for (const [name, setting] of Object.entries(value as object)) {
    const kind = Object.hasOwn(kinds, name) ? kinds[name as keyof Config] : undefined;
    if (kind === undefined)
      return `has the unknown setting \`${name}\`; the settings are ${Object.keys(kinds).join(", ")}`;
    // An empty text is an environment variable that is not set, most likely, and no directory, secret or URL.
    if (setting === "") return `has an empty \`${name}\`; leave it out, or give it a value`;
    if (setting !== undefined && !isKind(setting, kind)) return `has a \`${name}\` that is not a ${kind}`;
  }
  return undefined;
}

function isKind(value: unknown, kind: Kind): boolean {
  if (kind === "list") return Array.isArray(value);
  if (kind === "list of texts")
    return Array.isArray(value) && value.every((item) => typeof item === "string");
  if (kind === "text or list") return typeof value === "string" || Array.isArray(value);
  if (kind === "object") return typeof value === "object" && value !== null && !Array.isArray(value);
  return typeof value === kind;
}
