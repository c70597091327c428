import stringWidth from "string-width";
import type { Terminal } from "./terminal.ts";

/** What a part of a line means; {@link layout} gives it a colour. */
export type Tone = "plain" | "dim" | "good" | "warn" | "bad" | "alarm";

/** A part of a line. Its text must be safe for a terminal. */
export interface Part {
  readonly text: string;
  readonly tone?: Tone;
  /** Spaces in front of it. Default: 1. */
  readonly gap?: number;
  /** What is shown in its place where there is too little room; empty for nothing. */
  readonly short?: string;
  /** Left out where the short forms still leave too little room. */
  readonly optional?: boolean;
  /** What is shown in its place where even cutting other parts makes too little room. */
  readonly shortest?: string;
  /** May be cut in the middle of the line, so that what comes after it is still seen. */
  readonly shrinks?: boolean;
}

/** A part that shrinks keeps this many columns. */
const MIN_WIDTH = 6;
/** Where there is no terminal, it has this many at most: names are as long as a client likes, and a log keeps every line. */
const MAX_WIDTH = 200;
const ASCII = /^[\x20-\x7E]*$/;

/** How many columns a text takes. */
export function widthOf(text: string): number {
  return ASCII.test(text) ? text.length : stringWidth(text);
}

/** The beginning of a text that fits into so many columns, with an ellipsis where something was left out. */
export function cut(text: string, columns: number): string {
  if (widthOf(text) <= columns) return text;
  if (columns < 1) return "";
  if (ASCII.test(text)) return `${text.slice(0, columns - 1)}…`;
  let width = 1;
  let kept = "";
  for (const { segment } of new Intl.Segmenter(undefined, { granularity: "grapheme" }).segment(text)) {
    width += widthOf(segment);
    if (width > columns) break;
    kept += segment;
  }
  return `${kept}…`;
}

/**
 * One line of parts, with colours. On a terminal it takes at most its columns: short forms are used from the end, then
 * optional parts are left out, then the parts that shrink are cut, the widest first, then the shortest forms are used, and then the line is cut.
 *
 * @param columns The width of the terminal. Without one, only parts that shrink are cut, after 200 columns.
 */
export function layout(parts: readonly Part[], colors: Terminal["colors"], columns?: number): string {
  const shown = columns === undefined ? limited(parts) : fitted(parts, columns);
  let room = columns ?? Number.POSITIVE_INFINITY;
  let line = "";
  for (const [index, { text, tone = "plain", gap = 1 }] of shown.entries()) {
    const before = index === 0 ? "" : " ".repeat(gap);
    room -= before.length;
    if (room < 1) break;
    const kept = room === Number.POSITIVE_INFINITY ? text : cut(text, room);
    line += before + toned(kept, tone, colors);
    room -= widthOf(kept);
  }
  return line;
}

function limited(parts: readonly Part[]): readonly Part[] {
  return measurable(parts, MAX_WIDTH).map((part) =>
    part.shrinks ? { ...part, text: cut(part.text, MAX_WIDTH) } : part,
  );
}

/** More than a whole line of one part is never shown, and measuring takes time. */
function measurable(parts: readonly Part[], columns: number): readonly Part[] {
  return parts.map((part) => (part.shrinks ? { ...part, text: part.text.slice(0, columns * 2) } : part));
}

function fitted(parts: readonly Part[], columns: number): readonly Part[] {
  const shown = measurable(parts, columns);
  const shortened = withShortForms(shown, columns, ({ short }) => short);
  const needed = withShortForms(shortened, columns, ({ optional }) => (optional ? "" : undefined));
  return withShortForms(shrunk(needed, columns), columns, ({ shortest }) => shortest);
}

/** How many columns are missing. */
function excess(parts: readonly Part[], columns: number): number {
  const width = parts.reduce(
    (sum, { text, gap = 1 }, index) => sum + widthOf(text) + (index === 0 ? 0 : gap),
    0,
  );
  return width - columns;
}

/** Takes short forms from the end on, while there is too little room. */
function withShortForms(
  parts: readonly Part[],
  columns: number,
  formOf: (part: Part) => string | undefined,
): readonly Part[] {
  const shown = [...parts];
  for (let index = shown.length - 1; index >= 0 && excess(shown, columns) > 0; index -= 1) {
    const part = shown[index];
    const form = part && formOf(part);
    if (part && form !== undefined) shown[index] = { ...part, text: form };
  }
  return shown.filter(({ text }) => text !== "");
}

/** Cuts the widest of the parts that may be cut, again and again, while there is too little room. */
function shrunk(parts: readonly Part[], columns: number): readonly Part[] {
  const widths = parts.map(({ text, shrinks }) => (shrinks ? widthOf(text) : 0));
  for (let over = excess(parts, columns); over > 0; over -= 1) {
    const widest = widths.indexOf(Math.max(...widths));
    const width = widths[widest] ?? 0;
    if (width <= MIN_WIDTH) break;
    widths[widest] = width - 1;
  }
  return parts.map((part, index) =>
    part.shrinks ? { ...part, text: cut(part.text, widths[index] ?? 0) } : part,
  );
}

/**
 * A text in lines of so many columns, broken between words.
 *
 * @param indent In front of each line.
 * @param columns Without a terminal there is one line.
 */
export function wrap(text: string, indent: string, columns?: number): readonly string[] {
  const room = (columns ?? Number.POSITIVE_INFINITY) - indent.length;
  if (room < 20) return [indent + text];
  const lines: string[] = [];
  let line = "";
  for (const word of text.split(" ")) {
    const longer = line === "" ? word : `${line} ${word}`;
    if (line !== "" && widthOf(longer) > room) {
      lines.push(indent + line);
      line = word;
    } else line = longer;
  }
  return [...lines, indent + line];
}

function toned(text: string, tone: Tone, colors: Terminal["colors"]): string {
  switch (tone) {
    case "dim":
      return colors.dim(text);
    case "good":
      return colors.green(text);
    case "warn":
      return colors.yellow(text);
    case "bad":
      return colors.red(text);
    case "alarm":
      return colors.bold(colors.red(text));
    default:
      return text;
  }
}
