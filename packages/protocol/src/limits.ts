/** Largest call: UTF-8 bytes of the JSON of the call as recorded, 32 KiB (spec 8). What is merged into it later does not count. */
export const MAX_CALL_BYTES = 32_768;

/** Largest batch request: UTF-8 bytes of the body, after inflation (spec 8). */
export const MAX_BATCH_BYTES = 512_000;

/** Most calls in one batch request. */
export const MAX_BATCH_MESSAGES = 2_500;

/** Longest `messageId`, in UTF-16 code units. */
export const MAX_MESSAGE_ID_LENGTH = 99;

/** Deepest nesting of a call: objects and arrays within each other, the call itself being the first level. */
export const MAX_NESTING = 500;

const encoder = new TextEncoder();
let scratch: Uint8Array | undefined;

/** The UTF-8 size of a text, in bytes. */
export function utf8Bytes(text: string): number {
  return encoder.encode(text).length;
}

/** The UTF-8 size of the JSON of a call in bytes, or `undefined` if it is over {@link MAX_CALL_BYTES}. Allocates nothing. */
export function measureCall(json: string): number | undefined {
  // Never fewer bytes than code units, so a longer text need not be encoded at all.
  if (json.length > MAX_CALL_BYTES) return undefined;
  scratch ??= new Uint8Array(MAX_CALL_BYTES);
  const { read, written } = encoder.encodeInto(json, scratch);
  return read === json.length ? written : undefined;
}

/** Whether a text can be a `messageId`: 1 to {@link MAX_MESSAGE_ID_LENGTH} characters. */
export function isMessageId(text: string): boolean {
  return text.length > 0 && text.length <= MAX_MESSAGE_ID_LENGTH;
}
