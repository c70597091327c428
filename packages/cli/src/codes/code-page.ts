/** What an example is written in. */
export type ExampleLanguage = "sh" | "ts" | "json" | "http" | "html" | "nginx" | "dotenv";

/** What a person needs to know about a code. */
export interface CodePage {
  /** The usual cause. */
  readonly cause: string;
  /** What to do. */
  readonly fix: string;
  /** What the example is written in. */
  readonly language: ExampleLanguage;
  /** A command, a setting or a line of code that shows the fix, or how to see the cause. It may have several lines. */
  readonly example: string;
}

/** Pages by their code. */
export type CodePages = Readonly<Record<string, CodePage>>;
