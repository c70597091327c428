import type { IncomingMessage, ServerResponse } from "node:http";
import { WebhookError } from "./errors.ts";
import { toProblem } from "./problem.ts";
import type { Received } from "./receiver.ts";
import { bodyReadBefore, tooLarge, type WebhookBody, type WebhookRequest } from "./request.ts";

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
 *   connection ends before the body does.
 * @example
 * ```ts
 * const bytes = await readRawBody(request, { maxBytes: 1_048_576 });
 * ```
 */
export function readRawBody(stream: NodeJS.ReadableStream, options: ReadRawBodyOptions): Promise<Uint8Array> {
  return new Promise((resolve, reject) => {
    const chunks: Buffer[] = [];
    let length = 0;

    const finish = (settle: () => void): void => {
      stream.off("data", onData).off("end", onEnd).off("error", onBroken).off("close", onBroken);
      settle();
    };
    const onData = (chunk: Buffer | string): void => {
      // Text comes where something called setEncoding() before.
      const bytes = typeof chunk === "string" ? Buffer.from(chunk) : chunk;
      length += bytes.length;
      if (length <= options.maxBytes) {
        chunks.push(bytes);
        return;
      }
      stream.pause();
      finish(() => reject(tooLarge(options.maxBytes)));
    };
    const onEnd = (): void => finish(() => resolve(Buffer.concat(chunks, length)));
    const onBroken = (cause?: Error): void =>
      finish(() => reject(new WebhookError("ERR_BODY_ABORTED", cause === undefined ? {} : { cause })));

    if ("destroyed" in stream && stream.destroyed === true) {
      reject(new WebhookError("ERR_BODY_ABORTED"));
      return;
    }
    stream.on("data", onData).on("end", onEnd).on("error", onBroken).on("close", onBroken);
    // A stream that somebody paused does not flow again for a new listener alone.
    stream.resume();
  });
}

/** A Node request, with what a platform or an earlier body parser may have put on it. */
export type NodeRequest = IncomingMessage & { rawBody?: unknown; body?: unknown };

/** Options of {@link toWebhookRequest}. */
export interface ToWebhookRequestOptions<TRequest> {
  /** The framework's own request, for the hooks and the `secret` function. Default: the Node request. */
  readonly request?: TRequest;
  /** What to change in this framework if the body was read before and nothing of it is left. */
  readonly alreadyReadHint?: string;
}

/**
 * A Node request as a receiver takes it. If something read the body before, it uses `rawBody` (Cloud Functions and the
 * like), else the bytes or text in `body`, else the value parsed into it (`express.json()`, Next.js pages).
 *
 * @param request - The request, as `node:http`, Express or a serverless platform gives it.
 * @param options - What hooks and hints should tell.
 * @example
 * ```ts
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
    body: nodeBody(request, options.alreadyReadHint),
    // Without the option, TRequest is its default.
    request: options.request ?? (request as unknown as TRequest),
  };
}

function nodeBody(request: NodeRequest, hint: string | undefined): WebhookBody {
  const { rawBody, body } = request;
  const keptBytes = [rawBody, body].some((value) => typeof value === "string" || value instanceof Uint8Array);
  // Express 4 sets body to {} without having read anything: what counts is whether the stream was read.
  const wasRead = request.readableDidRead || request.readableEnded;
  if (keptBytes || wasRead) {
    return bodyReadBefore({ rawBody, body, ...(hint === undefined ? {} : { hint }) });
  }
  return { from: "stream", read: (limits) => readRawBody(request, limits) };
}

/**
 * Answers a Node response with the problem of an error; see `toProblem`. Does nothing if an answer has begun.
 *
 * @param response - The response to write and end.
 * @param error - The error a receiver gave.
 */
export function sendProblem(response: ServerResponse, error: WebhookError): void {
  if (response.headersSent) return;
  const { status, headers, body } = toProblem(error);
  response.writeHead(status, headers).end(body);
}

/**
 * Settles a verified webhook when its response has been sent: for frameworks whose handlers end the response themselves.
 * If the sender goes away before the handler answers, the claim stays until it runs out: the handler may still succeed.
 *
 * @param received - A verdict of `"verified"`.
 * @param response - The response the handler will end.
 */
export function settleWhenSent(
  received: Pick<Extract<Received, { verdict: "verified" }>, "settle">,
  response: ServerResponse,
): void {
  response.once("finish", () => {
    received.settle(response.statusCode).catch((error: unknown) => {
      // The answer is out, and the claim runs out by itself: at worst the handler sees this delivery again.
      process.emitWarning(`The dedupe store failed after the webhook was answered: ${String(error)}`, {
        code: "COUNTERSIGN_DEDUPE",
      });
    });
  });
}
