import { EventEmitter } from "node:events";
import type { Readable } from "node:stream";
import getRawBody from "raw-body";
import { WebhookError, type WebhookErrorCode } from "./errors.ts";
import { bodyTooLarge } from "./request.ts";

/** Options of {@link readRawBody}. */
export interface ReadRawBodyOptions {
  /** The largest body accepted, in bytes. */
  readonly maxBytes: number;
}

/**
 * How many chunks a body may come in: 4,096, and more only where `maxBytes` is beyond 1 MiB. Every chunk costs some hundred
 * bytes until the body is whole, so one-byte chunks would make 1 MiB of body 450 MB of memory. TCP segments of 1 MiB are
 * some 750 to 2,000.
 */
const MIN_CHUNKS = 4_096;
const BYTES_PER_CHUNK = 256;

/** What raw-body says is wrong, by its `type`, in the codes of this package. Anything else broke the stream itself. */
const CODES: Readonly<Record<string, WebhookErrorCode>> = {
  "entity.too.large": "ERR_BODY_TOO_LARGE",
  "request.aborted": "ERR_BODY_ABORTED",
  "request.size.invalid": "ERR_BODY_ABORTED",
  "stream.encoding.set": "ERR_BODY_ALREADY_READ",
  "stream.not.readable": "ERR_BODY_ALREADY_READ",
};

const ENCODING_SET =
  "Something called setEncoding() on the request before verifyWebhook(), so its exact bytes are gone. Remove that call, or " +
  "mount verifyWebhook() before it.";

/**
 * Reads the exact bytes of a Node request, at most `maxBytes` of them. It resumes a paused stream and leaves no listener
 * behind.
 *
 * @param stream - The request, or the payload stream that a framework gives for it.
 * @param options - The limit.
 * @throws WebhookError `ERR_BODY_TOO_LARGE` as soon as the limit is passed, `ERR_BODY_FRAGMENTED` as soon as there are too
 *   many chunks, the rest unread in both cases; `ERR_BODY_ABORTED` if the connection ends before the body does;
 *   `ERR_BODY_ALREADY_READ` if the stream was read before, or has an encoding set.
 * @example
 * ```ts
 * const bytes = await readRawBody(request, { maxBytes: 1_048_576 });
 * ```
 */
export async function readRawBody(
  stream: NodeJS.ReadableStream,
  options: ReadRawBodyOptions,
): Promise<Uint8Array> {
  const { readableEnded, destroyed, readableEncoding } = stream as Readable;
  // No event would ever come from a stream that has ended.
  if (readableEnded) throw new WebhookError("ERR_BODY_ALREADY_READ");
  if (destroyed) throw new WebhookError("ERR_BODY_ABORTED");
  if (readableEncoding) throw new WebhookError("ERR_BODY_ALREADY_READ", { hint: ENCODING_SET });
  const { relay, release } = relayOf(stream, Math.max(MIN_CHUNKS, options.maxBytes / BYTES_PER_CHUNK));
  try {
    return await getRawBody(relay, { limit: options.maxBytes });
  } catch (error) {
    throw translate(error, options.maxBytes);
  } finally {
    release();
  }
}

function translate(error: unknown, maxBytes: number): WebhookError {
  if (error instanceof WebhookError) return error;
  const code = CODES[String((error as { type?: unknown }).type)] ?? "ERR_BODY_ABORTED";
  return code === "ERR_BODY_TOO_LARGE" ? bodyTooLarge(maxBytes) : new WebhookError(code, { cause: error });
}

/**
 * A stream of the same events, which can be ended early. raw-body cannot be stopped, and would wait forever for the
 * end of a stream that only closes.
 */
function relayOf(
  stream: NodeJS.ReadableStream,
  maxChunks: number,
): { readonly relay: NodeJS.ReadableStream; readonly release: () => void } {
  // raw-body pauses what it refuses.
  const relay = Object.assign(new EventEmitter(), { pause: () => stream.pause() });
  let chunks = 0;
  const onData = (chunk: Buffer | string): void => {
    chunks += 1;
    if (chunks > maxChunks) relay.emit("error", new WebhookError("ERR_BODY_FRAGMENTED"));
    else relay.emit("data", typeof chunk === "string" ? Buffer.from(chunk) : chunk);
  };
  const release = (): void => {
    stream.off("data", onData).off("end", onEnd).off("error", onBroken).off("close", onBroken);
  };
  const onEnd = (): void => {
    // Node emits "close" right after "end", before any promise resolves: an error, with its stack, for every good request.
    release();
    relay.emit("end");
  };
  const onBroken = (cause?: Error): void =>
    void relay.emit("error", new WebhookError("ERR_BODY_ABORTED", cause === undefined ? {} : { cause }));
  // The reader leaves before a late failure of the stream, which an emitter without listener would throw.
  relay.on("error", () => {});

  stream.on("data", onData).on("end", onEnd).on("error", onBroken).on("close", onBroken);
  // A stream that something paused does not flow again for a new listener.
  stream.resume();
  // raw-body uses only what an emitter has.
  return { relay: relay as unknown as NodeJS.ReadableStream, release };
}
