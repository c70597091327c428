/**
 * The beginning of a text, as a text of its own. A part that JavaScript cuts out of a string keeps the whole string in memory:
 * what is kept of a message would keep all of it.
 */
export function beginningOf(text: string, length: number): string {
  return text.length <= length ? text : Buffer.from(text.slice(0, length), "utf16le").toString("utf16le");
}
