/** UTF-8 bytes of one call as it is sent: 32 KiB (spec 8). */
export const maxCallBytes: number = 32_768;

/** UTF-8 bytes of one request body, envelope included: 500 KiB (spec 8). */
export const maxBatchBytes: number = 512_000;

/** Messages in one request. */
export const maxBatchMessages: number = 2_500;

const encoder = new TextEncoder();
const scratch = new Uint8Array(maxCallBytes);

/** Exact UTF-8 size of a text, or `undefined` if it is over {@link maxCallBytes}. Allocates nothing. */
export function callBytes(text: string): number | undefined {
  const { read, written } = encoder.encodeInto(text, scratch);
  return read === text.length ? written : undefined;
}

/** Exact UTF-8 size of a text of any length. */
export function utf8Bytes(text: string): number {
  return encoder.encode(text).length;
}
