export type { ServerOptions } from "./app/server-options.ts";
export { isOfKind, LEAST_BYTES, OPTION_KINDS, OPTION_SYNONYMS, type OptionKind } from "./app/option-kinds.ts";
