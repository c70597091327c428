export type { CodePage, CodePages, ExampleLanguage } from "./codes/code-page.ts";
export { CODE_GROUPS, findCode, type CodeGroup, type FoundCode } from "./codes/codes.ts";
