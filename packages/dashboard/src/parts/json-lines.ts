/** One line of JSON that is written out with a line for each value. */
export interface JsonLine {
  readonly depth: number;
  /** The property's name as it is written, with its quotes; absent in lists. */
  readonly key: string | undefined;
  /** The value as it is written, or the bracket. */
  readonly text: string;
  readonly kind: "string" | "number" | "word" | "open" | "close";
  /** Of an opening bracket: the line of its closing one. */
  end: number;
  /** Of an opening bracket: how many values are directly in it. */
  items: number;
}

const TOKEN = /\s*(?:("(?:[^"\\]|\\.)*")|(-?\d[\d.eE+-]*)|(true|false|null)|([{}[\]:,]))/y;

/**
 * Writes JSON out in lines without parsing it into values, so that every number, escape and repeated name stays as it was sent, and
 * depth costs nothing. Undefined for what is not JSON.
 */
export function jsonLines(text: string): readonly JsonLine[] | undefined {
  if (!isJson(text)) return undefined;
  const lines: JsonLine[] = [];
  const open: number[] = [];
  let key: string | undefined;
  let last: string | undefined;
  const add = (text: string, kind: JsonLine["kind"]): void => {
    const parent = lines[open.at(-1) ?? -1];
    if (parent && kind !== "close") parent.items += 1;
    lines.push({ depth: open.length, key, text, kind, end: lines.length, items: 0 });
    key = undefined;
  };
  TOKEN.lastIndex = 0;
  for (let match = TOKEN.exec(text); match; match = TOKEN.exec(text)) {
    const [, string, number, word, sign] = match;
    // A text is a name if a colon follows; so it waits for what comes next.
    if (last !== undefined && sign !== ":") add(last, "string");
    else if (last !== undefined) key = last;
    last = string;
    if (number !== undefined) add(number, "number");
    else if (word !== undefined) add(word, "word");
    else if (sign === "{" || sign === "[") {
      add(sign, "open");
      open.push(lines.length - 1);
    } else if (sign === "}" || sign === "]") {
      const opening = lines[open.pop() ?? -1];
      add(sign, "close");
      if (opening) opening.end = lines.length - 1;
    }
  }
  if (last !== undefined) add(last, "string");
  return lines;
}

function isJson(text: string): boolean {
  try {
    JSON.parse(text);
    return true;
  } catch {
    return false;
  }
}
