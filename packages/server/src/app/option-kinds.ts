import {
  DATA_SYNONYMS,
  DELIVER_SYNONYMS,
  HEADERS_SYNONYMS,
  HOST_SYNONYMS,
  isObject,
  KEEP_FOR_SYNONYMS,
  MAX_BYTES_SYNONYMS,
  PROXY_SYNONYMS,
  RETRY_SYNONYMS,
  SECRET_SYNONYMS,
  SOURCES_SYNONYMS,
  TOKEN_SYNONYMS,
  TO_SYNONYMS,
  type OptionSynonyms,
} from "@countersign/protocol";
import type { ServerOptions } from "./server-options.ts";

/** The kinds of value that an option can have. */
export type OptionKind =
  | "string"
  | "number"
  | "boolean"
  | "object"
  | "list"
  | "list of strings"
  | "string or list"
  | "duration";

/** The plain options and their kinds. The sender checks what is in `sources` and `retry`. */
export const OPTION_KINDS: Readonly<
  Record<Exclude<keyof ServerOptions, "clock" | "store" | "onError">, OptionKind>
> = {
  to: "string or list",
  secret: "string",
  headers: "object",
  ca: "string or list",
  concurrency: "number",
  writeKey: "string",
  sources: "list",
  host: "string",
  port: "number",
  tls: "object",
  token: "string",
  allowHosts: "list of strings",
  data: "string",
  deliver: "boolean",
  maxBytes: "number",
  keepFor: "duration",
  record: "string",
  retry: "object",
  blockPrivateNetworks: "boolean",
  proxy: "string",
  noProxy: "string or list",
  maxConnections: "number",
  processMetrics: "boolean",
};

/** What other tools call some of them. A key that is not said to be of a source is the token. */
export const OPTION_SYNONYMS: Readonly<Partial<Record<keyof typeof OPTION_KINDS, OptionSynonyms>>> = {
  to: TO_SYNONYMS,
  secret: SECRET_SYNONYMS,
  headers: HEADERS_SYNONYMS,
  sources: SOURCES_SYNONYMS,
  host: HOST_SYNONYMS,
  token: TOKEN_SYNONYMS,
  allowHosts: ["allowedhosts"],
  data: DATA_SYNONYMS,
  deliver: DELIVER_SYNONYMS,
  maxBytes: MAX_BYTES_SYNONYMS,
  keepFor: KEEP_FOR_SYNONYMS,
  retry: RETRY_SYNONYMS,
  proxy: PROXY_SYNONYMS,
};

/** Less than this holds no useful number of deliveries. */
export const LEAST_BYTES = 1_048_576;

/** Whether a value is of a kind. */
export function isOfKind(value: unknown, kind: OptionKind): boolean {
  if (kind === "list") return Array.isArray(value);
  if (kind === "list of strings")
    return Array.isArray(value) && value.every((item) => typeof item === "string");
  if (kind === "string or list") return typeof value === "string" || Array.isArray(value);
  if (kind === "duration") return typeof value === "string" || typeof value === "number";
  if (kind === "object") return isObject(value);
  return typeof value === kind;
}
