/** One call, as JSON: 32 KiB (spec, Limits). */
export const MAX_CALL_BYTES = 32_768;

/** One batch, as JSON after inflation: 512,000 bytes (spec, Limits). */
export const MAX_BATCH_BYTES = 512_000;

/** Messages in one batch. */
export const MAX_BATCH_MESSAGES = 2_500;

/** A `messageId` is shorter than this, in UTF-16 code units. */
export const MESSAGE_ID_LIMIT = 100;

/** Objects within objects: beyond this, serialising on the way out could overflow the stack. */
export const MAX_NESTING = 500;

/** How long a `messageId` is remembered, in milliseconds: 24 hours. */
export const DEDUPE_WINDOW_MS: number = 24 * 60 * 60 * 1_000;
