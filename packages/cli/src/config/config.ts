import { nameHint, quote, type OptionHints } from "@countersign/protocol";
import type { ServerOptions } from "@countersign/server";
import { isOfKind, OPTION_KINDS, OPTION_SYNONYMS } from "@countersign/server/options";

/** The settings of a config file. Paths are relative to the file. */
export type Config = Pick<
  ServerOptions,
  | "to"
  | "secret"
  | "headers"
  | "ca"
  | "concurrency"
  | "writeKey"
  | "sources"
  | "host"
  | "port"
  | "tls"
  | "token"
  | "allowHosts"
  | "data"
  | "maxBytes"
  | "keepFor"
  | "record"
  | "retry"
  | "blockPrivateNetworks"
  | "proxy"
  | "noProxy"
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

/** What a config file can set, each with its kind: those of the type, no more and no fewer. */
const { deliver: _, processMetrics: __, ...KINDS } = OPTION_KINDS;

/** Their names, each with what other tools call it. */
const NAMES = Object.fromEntries(
  (Object.keys(KINDS) as readonly (keyof typeof KINDS)[]).map((name: keyof Config) => [
    name,
    OPTION_SYNONYMS[name] ?? true,
  ]),
);

/** Options of the server that are flags of the command only. */
const HINTS: OptionHints = {
  deliver: "pass --no-deliver to serve, with --store",
  store: "pass --store to serve",
};

/** Settings that keep others out. */
const GUARDS: readonly (keyof Config)[] = ["token", "writeKey"];

/** What is wrong with the value of a config file, as the end of a sentence; the sender checks what is in `sources`. */
export function configProblem(value: unknown): string | undefined {
  if (!isOfKind(value, "object"))
    return 'must export an object, for example { to: "http://localhost:3000/webhooks" }.';
  for (const [name, setting] of Object.entries(value as object)) {
    if (!Object.hasOwn(KINDS, name))
      return `has the unknown setting ${quote(name)}${nameHint(name, NAMES, HINTS)}`;
    const kind = KINDS[name as keyof Config];
    // Mostly an environment variable that is not set: without it, everybody would be let in.
    if (setting === undefined && GUARDS.some((guard) => guard === name))
      return `has a \`${name}\` that is undefined: set the variable that it comes from, or leave it out.`;
    // An empty text is most likely an environment variable that is not set.
    if (setting === "") return `has an empty \`${name}\`; leave it out, or give it a value.`;
    if (setting !== undefined && !isOfKind(setting, kind)) return `has a \`${name}\` that is not a ${kind}.`;
  }
  return undefined;
}
