/** A line of a recording is a message of 32 KiB and its headers; far beyond that the file is something else. */
const MAX_LINE_BYTES = 8 * 1_024 * 1_024;
const NEWLINE = 0x0a;
/** The byte order mark of UTF-8, with which programs on Windows begin a file. */
const BYTE_ORDER_MARK = "\uFEFF";

/** A line of a file. */
export interface Line {
  /** From 1. */
  readonly number: number;
  readonly text: string;
  /** Bytes of the file up to the end of this line. */
  readonly end: number;
  /** Whether it ends with a newline. Only the last one may not. */
  readonly isWhole: boolean;
}

/** A place in a file: what is before it was read earlier. */
export type Place = Pick<Line, "number" | "end">;

/** Where a file begins. */
export const BEGINNING: Place = { number: 0, end: 0 };

/**
 * Reads a file line by line, never more than one line of it in memory. Empty lines are left out, and so is a byte order mark.
 * Rejects with a RangeError for a line that is too long, and for a file in UTF-16.
 *
 * @param after Where the chunks begin: after the line of this number, which ended at this byte. Default: the beginning.
 */
export async function* readLines(
  chunks: AsyncIterable<Buffer>,
  after: Place = BEGINNING,
): AsyncGenerator<Line> {
  let rest: Buffer[] = [];
  let held = 0;
  let { number, end } = after;
  for await (const chunk of chunks) {
    let start = 0;
    for (let at = chunk.indexOf(NEWLINE); at !== -1; at = chunk.indexOf(NEWLINE, start)) {
      const bytes = Buffer.concat([...rest, chunk.subarray(start, at)]);
      rest = [];
      held = 0;
      number += 1;
      end += bytes.length + 1;
      start = at + 1;
      if (bytes.some((byte) => byte > 0x20))
        yield { number, text: textOf(bytes, number), end, isWhole: true };
    }
    rest.push(chunk.subarray(start));
    held += chunk.length - start;
    if (held > MAX_LINE_BYTES)
      throw new RangeError(`Line ${number + 1} is longer than ${MAX_LINE_BYTES} bytes.`);
  }
  const bytes = Buffer.concat(rest);
  if (bytes.some((byte) => byte > 0x20))
    yield { number: number + 1, text: textOf(bytes, number + 1), end: end + bytes.length, isWhole: false };
}

/** How a file in UTF-16 begins, in each order of bytes. */
const UTF_16: ReadonlySet<string> = new Set(["fffe", "feff"]);

function textOf(bytes: Buffer, number: number): string {
  if (number === 1 && UTF_16.has(bytes.toString("hex", 0, 2)))
    throw new RangeError("It is UTF-16, as > of Windows PowerShell writes it. Save it as UTF-8.");
  const text = bytes.toString("utf8");
  return number === 1 && text.startsWith(BYTE_ORDER_MARK) ? text.slice(1) : text;
}
