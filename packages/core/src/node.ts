import type { IncomingMessage, ServerResponse } from "node:http";
import type { Http2ServerRequest, Http2ServerResponse } from "node:http2";
import type { Readable } from "node:stream";
import { readRawBody, readRawBodyThen } from "./request/read-raw-body.ts";
import type { Received } from "./receiver/received.ts";
import { bodyReadBefore, isBytesOrText, type WebhookBody, type WebhookRequest } from "./request/request.ts";
import type { WebhookResponse } from "./receiver/response.ts";
import { settleNothing } from "./dedupe/settle.ts";

export { readRawBody, type ReadRawBodyOptions } from "./request/read-raw-body.ts";
export type { WebhookRequest } from "./request/request.ts";

/** A Node request, with what a platform or an earlier body parser may have put on it. */
export type NodeRequest = IncomingMessage & { rawBody?: unknown; body?: unknown };

/** The same over HTTP/2. */
export type NodeHttp2Request = Http2ServerRequest & { rawBody?: unknown; body?: unknown };

/** Options of {@link toWebhookRequest}. */
export interface ToWebhookRequestOptions<TRequest> {
  /** The framework's own request, for the hooks and the `secret` function. Default: the Node request. */
  readonly request?: TRequest | undefined;
  /** The hint of the error for a body that was read before and not kept: what to change in this framework. */
  readonly alreadyReadHint?: string | undefined;
  /** The object with `rawBody` and `body`, if it is not the Node request: Koa and Fastify have their own request. */
  readonly kept?: object | undefined;
  /** The stream to read, if it is not the Node request. */
  readonly stream?: NodeJS.ReadableStream | undefined;
  /** What an earlier verification of the same request left on it. If there is one, the body counts as read. */
  readonly verified?: object | undefined;
}

const VERIFIED_BEFORE = "verifyWebhook() ran before. Mount it once for a route.";

/**
 * A Node request in the form that a receiver takes. If something read the body before, it uses `rawBody` (Cloud Functions
 * and others), else the bytes or text in `body`, else the value parsed into it (`express.json()`, Next.js pages).
 *
 * @param request - The request, as `node:http`, `node:http2`, Express or a serverless platform gives it.
 * @param options - What the framework keeps elsewhere, and what hooks and hints should tell.
 * @example
 * ```ts
 * // receive() rejects with what a hook, a secret function or a dedupe store throws: catch that, and answer 500.
 * const received = await receiver.receive(toWebhookRequest(request));
 * if (received.verdict !== "verified") sendResponse(response, received.response);
 * ```
 */
export function toWebhookRequest<TRequest = NodeRequest>(
  request: NodeRequest,
  options?: ToWebhookRequestOptions<TRequest>,
): WebhookRequest<TRequest>;
/** The same over HTTP/2. */
export function toWebhookRequest<TRequest = NodeHttp2Request>(
  request: NodeHttp2Request,
  options?: ToWebhookRequestOptions<TRequest>,
): WebhookRequest<TRequest>;
export function toWebhookRequest<TRequest>(
  request: NodeRequest | NodeHttp2Request,
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

function nodeBody(
  request: NodeRequest | NodeHttp2Request,
  options: ToWebhookRequestOptions<unknown>,
): WebhookBody {
  // The types of HTTP/2 are not compatible with those of every stream, as its streams are.
  const { alreadyReadHint, stream = request as NodeRequest, kept = request, verified } = options;
  // What is left is the message, which need not be what was signed, and a store has its delivery in flight.
  if (verified) return { from: "gone", hint: VERIFIED_BEFORE };
  const earlier: Pick<NodeRequest, "rawBody" | "body"> = kept;
  const rawBody = earlier.rawBody ?? request.rawBody;
  const body = earlier.body ?? request.body;
  const keptBytes = isBytesOrText(rawBody) || isBytesOrText(body);
  // Express 4 sets body to {} without having read anything: what counts is whether the stream was read.
  const { readableDidRead, readableEnded } = stream as Readable;
  if (!keptBytes && readableEnded && isEmpty(request)) return { from: "raw", value: "" };
  // A request that a test made, with node-mocks-http for example, has a body and no stream.
  const isStream = typeof (stream as Partial<Readable>).resume === "function";
  // Over HTTP/2, a request that was reset has ended.
  if (keptBytes || !isStream || (!request.aborted && (readableDidRead || readableEnded))) {
    return bodyReadBefore({ rawBody, body, hint: alreadyReadHint });
  }
  return {
    from: "stream",
    read: (limits) => readRawBody(stream, limits),
    readThen: (limits, done) => readRawBodyThen(stream, limits, done),
  };
}

// Parsers turn an empty body into {}, null or nothing. Only HTTP/1 says for certain that a request has no body.
function isEmpty({ headers, httpVersionMajor }: NodeRequest | NodeHttp2Request): boolean {
  const length = Number(headers["content-length"] ?? 0);
  return httpVersionMajor < 2 && headers["transfer-encoding"] === undefined && length === 0;
}

/**
 * The error that an adapter passes to its framework after the app's own code threw. Frameworks treat a
 * missing error, and Express some texts, as permission to continue.
 *
 * @param thrown - Whatever was thrown.
 * @returns The same if it is an object, else an Error around it.
 * @example
 * ```ts
 * receiver.decide(toWebhookRequest(request), onVerdict, (thrown) => next(toError(thrown)));
 * ```
 */
export function toError(thrown: unknown): Error {
  // An object that is no Error has always reached the app's error handling as it is.
  if (typeof thrown === "object" && thrown !== null) return thrown as Error;
  return new Error(`Something threw ${String(thrown)} while a webhook was verified.`, { cause: thrown });
}

/**
 * Sends the response of a verdict or of `dispatch`. Does nothing if a response has begun.
 *
 * @param response - The response to write and end.
 * @param answer - What to write: status, headers and body.
 * @example
 * ```ts
 * const received = await receiver.receive(toWebhookRequest(request));
 * if (received.verdict !== "verified") sendResponse(response, received.response);
 * ```
 */
export function sendResponse(response: ServerResponse | Http2ServerResponse, answer: WebhookResponse): void {
  if (response.headersSent) return;
  response.statusCode = answer.status;
  for (const [name, value] of Object.entries(answer.headers))
    // HTTP/2 has no such header, and Node warns of it.
    if (name !== "connection" || !("stream" in response)) response.setHeader(name, value);
  // The types of the two differ in what `end` returns.
  (response as ServerResponse).end(answer.body);
}

/**
 * Settles a verified webhook when its handler ends the response, by the status it gives. That is the app's own verdict, so
 * it counts even if the sender has disconnected: such a sender retries. If the response is never ended, nothing is settled,
 * and the claim expires.
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
  response:
    | Pick<ServerResponse, "end" | "statusCode" | "writableEnded">
    | Pick<Http2ServerResponse, "end" | "statusCode" | "writableEnded">,
): void {
  if (received.settle === settleNothing) return;
  // Not the event "finish": it is never emitted after the sender has disconnected, as it does at its time limit.
  const { end } = response;
  response.end = (...args: unknown[]) => {
    if (!response.writableEnded) void received.settle(response.statusCode);
    return Reflect.apply(end, response, args);
  };
}
