import { AsyncResource } from "node:async_hooks";
import { Buffer } from "node:buffer";
import type { Http2ServerRequest } from "node:http2";
import type { Readable } from "node:stream";
import { WebhookError } from "../errors.ts";
import { bodyTooLarge } from "./body-too-large.ts";
import type { BodyCallback } from "./request.ts";

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

const ENCODING_SET =
  "Something called setEncoding() before verifyWebhook(), which loses bytes. Mount verifyWebhook() before it.";

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
export function readRawBody(stream: NodeJS.ReadableStream, options: ReadRawBodyOptions): Promise<Uint8Array> {
  return new Promise((resolve, reject) => {
    readRawBodyThen(stream, options, (error, bytes) => {
      if (error === undefined) resolve(bytes as Uint8Array);
      else reject(error);
    });
  });
}

/**
 * The same with a callback, which is called in the turn in which the body ends. It is given both bytes and an error where a
 * request over HTTP/2 was reset without one: the body may be whole all the same.
 */
export function readRawBodyThen(
  stream: NodeJS.ReadableStream,
  { maxBytes }: ReadRawBodyOptions,
  done: BodyCallback,
): void {
  const { readableEnded, destroyed, readableEncoding } = stream as Readable;
  // Over HTTP/2, a stream that was reset ends as one that is whole does.
  const isAborted = (): boolean | undefined => (stream as Partial<Http2ServerRequest>).aborted;
  // No event would ever come from a stream that has ended.
  if (readableEnded && !isAborted()) return done(new WebhookError("ERR_BODY_ALREADY_READ"));
  if (destroyed || isAborted()) return done(new WebhookError("ERR_BODY_ABORTED"));
  if (readableEncoding) return done(new WebhookError("ERR_BODY_ALREADY_READ", { hint: ENCODING_SET }));
  // The stream's events come from the connection. An app that uses AsyncLocalStorage expects what it had for this request.
  const context = new AsyncResource("countersign.body", { requireManualDestroy: true });
  const chunks: Uint8Array[] = [];
  let length = 0;

  const finish = (error: WebhookError | undefined, bytes?: Uint8Array): void => {
    stream.off("data", onData).off("end", onEnd).off("error", onBroken).off("close", onBroken);
    context.runInAsyncScope(done, undefined, error, bytes);
  };
  const refuse = (error: WebhookError): void => {
    const { stream: http2 } = stream as Partial<Http2ServerRequest>;
    // The rest of the body must not fill the memory, nor be waited for.
    if (http2 === undefined) stream.pause();
    // HTTP/2 has no "connection: close". After the response, a reset without an error asks the sender to stop (RFC 9113, 8.1).
    // What comes until then is dropped: a paused stream would keep it for good, since it never ends.
    else http2.once("finish", () => http2.close());
    finish(error);
  };
  const onData = (data: Buffer | string): void => {
    const chunk = typeof data === "string" ? Buffer.from(data) : data;
    length += chunk.length;
    if (length > maxBytes) return refuse(bodyTooLarge(maxBytes));
    // Over HTTP/2, it is a part of all that was read at once, and would keep that.
    chunks.push(chunks[0] && chunk.buffer.byteLength > 2 * chunk.length ? new Uint8Array(chunk) : chunk);
    if (chunks.length > Math.max(MIN_CHUNKS, maxBytes / BYTES_PER_CHUNK)) {
      refuse(new WebhookError("ERR_BODY_FRAGMENTED"));
    }
  };
  const onEnd = (): void => {
    const bytes = (chunks.length === 1 && chunks[0]) || Buffer.concat(chunks, length);
    finish(isAborted() ? new WebhookError("ERR_BODY_ABORTED") : undefined, bytes);
  };
  const onBroken = (cause?: Error): void => finish(new WebhookError("ERR_BODY_ABORTED", { cause }));

  stream.on("data", onData).on("end", onEnd).on("error", onBroken).on("close", onBroken);
  // A stream that something paused does not flow again for a new listener.
  stream.resume();
}
