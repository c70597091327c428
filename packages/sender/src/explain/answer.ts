import type { AttemptFacts } from "./attempt-facts.ts";
import { noAnswer } from "./no-answer-codes.ts";

/**
 * The answer in a few words: the status, or why there is none.
 *
 * @example
 * ```ts
 * answerText({ endpoint, outcome: "network", code: "UND_ERR_SOCKET", durationMs: 3 }); // closed the connection before answering
 * ```
 */
export function answerText({ status, code, outcome }: AttemptFacts): string {
  return status === undefined ? noAnswer(code, outcome).words : String(status);
}

/** More than this of an answer is not searched: an answer comes from others, and patterns take time. */
const MAX_SEARCHED = 4_096;
const MAX_LINE = 200;
/** Where an HTML page says what went wrong, the most telling element first. */
const TELLING_ELEMENTS: readonly RegExp[] = [
  /<pre>([^<]+)/i,
  /<h1>([^<]+)/i,
  /<title>([^<]+)/i,
  />\s*([^<\s][^<]*)/,
];

/**
 * The most informative line of an answer: the `detail` of a problem (RFC 9457), the message of another JSON error, the
 * heading of an HTML page, else the first line that is not empty. At most 200 characters, on one line. It is the
 * receiver's text: escape it where it is shown.
 *
 * @returns `undefined` for an empty answer.
 */
export function answerLine({ response = "" }: AttemptFacts): string | undefined {
  const text = response.trimStart();
  const found = text.startsWith("<") ? ofHtml(text.slice(0, MAX_SEARCHED)) : (ofJson(text) ?? text);
  const line = found
    .split("\n", 50)
    .map((each) => each.replaceAll(/\s+/gu, " ").trim())
    .find((each) => each !== "");
  if (line === undefined) return undefined;
  return line.length > MAX_LINE ? `${line.slice(0, MAX_LINE - 1)}…` : line;
}

function ofHtml(html: string): string {
  for (const element of TELLING_ELEMENTS) {
    const text = element.exec(html)?.[1]?.trim();
    if (text !== undefined && text !== "") return withoutEntities(text);
  }
  return html;
}

const ENTITIES: Readonly<Record<string, string>> = {
  "&quot;": '"',
  "&#39;": "'",
  "&lt;": "<",
  "&gt;": ">",
  "&nbsp;": " ",
  "&amp;": "&",
};

function withoutEntities(text: string): string {
  return text.replaceAll(/&(?:quot|#39|lt|gt|nbsp|amp);/g, (entity) => ENTITIES[entity] ?? entity);
}

const TELLING_FIELDS = ["detail", "message", "error", "error_description", "title"] as const;

/** The sentence of a JSON error, if the text is one. */
function ofJson(text: string): string | undefined {
  if (!/^[{["]/.test(text)) return undefined;
  try {
    return sentenceOf(JSON.parse(text), 2);
  } catch {
    // It is not JSON, or only the beginning of it was kept.
    return undefined;
  }
}

function sentenceOf(value: unknown, depth: number): string | undefined {
  if (typeof value === "string") return value;
  if (typeof value !== "object" || value === null || depth === 0) return undefined;
  if (Array.isArray(value)) return sentenceOf(value[0], depth - 1);
  for (const field of TELLING_FIELDS) {
    const found = Object.hasOwn(value, field)
      ? sentenceOf((value as Readonly<Record<string, unknown>>)[field], depth - 1)
      : undefined;
    if (found !== undefined && found.trim() !== "") return found;
  }
  return undefined;
}
