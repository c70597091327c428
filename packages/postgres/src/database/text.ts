/** PostgreSQL stores every text but U+0000, which is legal in a userId or the name of an event. */
const ESCAPE = "\uF8FF";
const NUL = "\0";

/** A text as the database can hold it. */
export function encodeText(text: string): string {
  if (!text.includes(NUL) && !text.includes(ESCAPE)) return text;
  return text.replaceAll(ESCAPE, `${ESCAPE}1`).replaceAll(NUL, `${ESCAPE}0`);
}

/** The text that {@link encodeText} was given. */
export function decodeText(text: string): string {
  if (!text.includes(ESCAPE)) return text;
  return text.replaceAll(`${ESCAPE}0`, NUL).replaceAll(`${ESCAPE}1`, ESCAPE);
}

/** {@link encodeText} of a text that may be absent. */
export function encodeOptional(text: string | undefined): string | null {
  return text === undefined ? null : encodeText(text);
}

/** {@link decodeText} of a column that may be null. */
export function decodeOptional(text: string | null): string | undefined {
  return text === null ? undefined : decodeText(text);
}
