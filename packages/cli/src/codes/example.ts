import type { CodePage, ExampleLanguage } from "./code-page.ts";

/** The example of a page, with its language. */
export type Example = Pick<CodePage, "language" | "example">;

type Maker = (example: string) => Example;

function inLanguage(language: ExampleLanguage): Maker {
  return (example) => ({ language, example });
}

// One for each language: the example of a page is `...sh("countersign serve")`.
export const sh: Maker = inLanguage("sh");
export const ts: Maker = inLanguage("ts");
export const json: Maker = inLanguage("json");
export const http: Maker = inLanguage("http");
export const html: Maker = inLanguage("html");
export const nginx: Maker = inLanguage("nginx");
export const dotenv: Maker = inLanguage("dotenv");
