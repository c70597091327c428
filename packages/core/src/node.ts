import type { IncomingMessage, ServerResponse } from "node:http";
import type { Readable } from "node:stream";
import { createBodyBuffer } from "./body-buffer.ts";
import { WebhookError } from "./errors.ts";
import { toProblem } from "./problem.ts";
import type { Received } from "./receiver.ts";
import { bodyReadBefore, bodyTooLarge, type WebhookBody, type WebhookRequest } from "./request.ts";

/** Options of {@link readRawBody}. */
export interface ReadRawBodyOptions {
  /** The largest body accepted, in bytes. */
  readonly maxBytes: number;
}

/**
 * Reads the exact bytes of a Node request, never more than `maxBytes` of them. It leaves no listener behind.
 *
 * @param stream - The request, or the payload stream a framework gives for it.
 * @param options - The limit.
 * @throws WebhookError `ERR_BODY_TOO_LARGE` as soon as the limit is passed, the rest unread; `ERR_BODY_ABORTED` when the
 *   connection ends before the body does; `ERR_BODY_ALREADY_READ` when the stream has been read before.
 * @example
 * ```ts
 * const bytes = await readRawBody(request, { maxBytes: 1_048_576 });
 * ```
 */
export function readRawBody(stream: NodeJS.ReadableStream, options: ReadRawBodyOptions): Promise<Uint8Array> {
  return new Promise((resolve, reject) => {
    const body = createBodyBuffer(options.maxBytes);

    const finish = (settle: () => void): void => {
      stream.off("data", onData).off("end", onEnd).off("error", onBroken).off("close", onBroken);
      settle();
    };
    const onData = (chunk: Buffer | string): void => {
      // Text comes where something called setEncoding() before.
      const bytes = typeof chunk === "string" ? Buffer.from(chunk) : chunk;
      if (body.append(bytes)) return;
      stream.pause();
      finish(() => reject(bodyTooLarge(options.maxBytes)));
    };
    const onEnd = (): void => finish(() => resolve(asBuffer(body.bytes())));
    const onBroken = (cause?: Error): void =>
      finish(() => reject(new WebhookError("ERR_BODY_ABORTED", cause === undefined ? {} : { cause })));

    // No event would ever come of a stream that has ended.
    if ("readableEnded" in stream && stream.readableEnded === true) {
      reject(new WebhookError("ERR_BODY_ALREADY_READ"));
      return;
    }
    if ("destroyed" in stream && stream.destroyed === true) {
      reject(new WebhookError("ERR_BODY_ABORTED"));
      return;
    }
    stream.on("data", onData).on("end", onEnd).on("error", onBroken).on("close", onBroken);
    // A stream that somebody paused does not flow again for a new listener alone.
    stream.resume();
  });
}

// A Buffer, where a Node program expects bytes to be one: `rawBody.toString()` is then their text.
function asBuffer({ buffer, byteOffset, byteLength }: Uint8Array): Buffer {
  return Buffer.from(buffer, byteOffset, byteLength);
}

/** A Node request, with what a platform or an earlier body parser may have put on it. */
export type NodeRequest = IncomingMessage & { rawBody?: unknown; body?: unknown };

/** Options of {@link toWebhookRequest}. */
export interface ToWebhookRequestOptions<TRequest> {
  /** The framework's own request, for the hooks and the `secret` function. Default: the Node request. */
  readonly request?: TRequest;
  /** What to change in this framework if the body was read before and nothing of it is left. */
  readonly alreadyReadHint?: string;
  /** What has `rawBody` and `body`, if not the Node request: Koa and Fastify put them on a request of their own. */
  readonly kept?: object;
  /** The stream to read, where the framework gives another one than the Node request itself. */
  readonly stream?: NodeJS.ReadableStream;
}

/**
 * A Node request as a receiver takes it. If something read the body before, it uses `rawBody` (Cloud Functions and the
 * like), else the bytes or text in `body`, else the value parsed into it (`express.json()`, Next.js pages).
 *
 * @param request - The request, as `node:http`, Express or a serverless platform gives it.
 * @param options - What hooks and hints should tell.
 * @example
 * ```ts
 * import { createServer } from "node:http";
 *
 * const server = createServer(async (request, response) => {
 *   const received = await receiver.receive(toWebhookRequest(request));
 *   if (received.verdict === "rejected") return sendProblem(response, received.error);
 *   response.writeHead(204).end();
 * });
 * ```
 */
export function toWebhookRequest<TRequest = NodeRequest>(
  request: NodeRequest,
  options: ToWebhookRequestOptions<TRequest> = {},
): WebhookRequest<TRequest> {
  return {
    method: request.method ?? "",
    headers: request.headers,
    body: nodeBody(request, options),
    // Without the option, TRequest is its default.
    request: options.request ?? (request as unknown as TRequest),
  };
}

function nodeBody(request: NodeRequest, options: ToWebhookRequestOptions<unknown>): WebhookBody {
  const { alreadyReadHint, stream = request } = options;
  const kept: Pick<NodeRequest, "rawBody" | "body"> = options.kept ?? request;
  const rawBody = kept.rawBody ?? request.rawBody;
  const body = kept.body ?? request.body;
  const keptBytes = [rawBody, body].some((value) => typeof value === "string" || value instanceof Uint8Array);
  // Express 4 sets body to {} without having read anything: what counts is whether the stream was read.
  const { readableDidRead, readableEnded } = stream as Readable;
  if (!keptBytes && readableEnded && isEmpty(request)) return { from: "raw", value: "" };
  if (keptBytes || readableDidRead || readableEnded) {
    return bodyReadBefore({
      rawBody,
      body,
      ...(alreadyReadHint === undefined ? {} : { hint: alreadyReadHint }),
    });
  }
  return { from: "stream", read: (limits) => readRawBody(stream, limits) };
}

// Parsers leave {}, null or nothing of an empty body. HTTP/1 says for certain that there is none.
function isEmpty({ headers, httpVersionMajor }: NodeRequest): boolean {
  const length = Number(headers["content-length"] ?? 0);
  return httpVersionMajor < 2 && headers["transfer-encoding"] === undefined && length === 0;
}

/**
 * Answers a Node response with the problem of an error; see `toProblem`. Does nothing if an answer has begun.
 *
 * @param response - The response to write and end.
 * @param error - The error a receiver gave.
 * @example
 * ```ts
 * const received = await receiver.receive(toWebhookRequest(request));
 * if (received.verdict === "rejected") sendProblem(response, received.error);
 * ```
 */
export function sendProblem(response: ServerResponse, error: WebhookError): void {
  if (response.headersSent) return;
  const { status, headers, body } = toProblem(error);
  response.writeHead(status, { ...headers, "content-length": Buffer.byteLength(body) }).end(body);
}

/**
 * Settles a verified webhook when its handler ends the response, by the status it gives. That is the app's own verdict:
 * it counts even if the sender has hung up meanwhile, for such a sender delivers again. A response that is never ended
 * settles nothing, and the claim runs out.
 *
 * @param received - A verdict of `"verified"`.
 * @param response - The response the handler will end.
 * @example
 * ```ts
 * const received = await receiver.receive(toWebhookRequest(request));
 * if (received.verdict === "verified") {
 *   settleWhenSent(received, response);
 *   await handle(received.webhook.message);
 *   response.writeHead(204).end();
 * }
 * ```
 */
export function settleWhenSent(
  received: Pick<Extract<Received, { verdict: "verified" }>, "settle">,
  response: Pick<ServerResponse, "end" | "statusCode" | "writableEnded">,
): void {
  // Not the event "finish": it never comes once the sender has hung up, as one with a time limit does.
  const { end } = response;
  response.end = (...args: unknown[]) => {
    if (!response.writableEnded) void received.settle(response.statusCode);
    return Reflect.apply(end, response, args);
  };
}
