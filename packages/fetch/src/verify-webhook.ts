import {
  createReceiver,
  type ReceivedMessage,
  type ReceiverOptions,
  type VerifiedWebhook,
  type WebhookMessage,
  type WebhookRequest,
  type WebhookRouter,
} from "@countersign/core";
import { requestBody } from "@countersign/core/web";
import { answer, checkHandler, toResponse } from "./answer.ts";
import { withContext, type HandlerOptions } from "./handler-options.ts";

/** Options of {@link verifyWebhook}: those of every receiver, without those that need to know the response. */
export interface VerifyWebhookOptions<Message extends ReceivedMessage = WebhookMessage> extends Omit<
  ReceiverOptions<Request, Message>,
  "dedupe" | "onError"
> {
  /** Only {@link webhookHandler} learns how a delivery was answered, and so whether a repeat must be handled. */
  readonly dedupe?: undefined;
}

/**
 * Options of {@link webhookHandler}: those of every receiver. Functions get the `Request` and the platform's second
 * argument, `context`: `env` in a Worker, the route's parameters in Next.js, `c.env` if you pass it in Hono.
 */
export type WebhookHandlerOptions<
  Context = unknown,
  Message extends ReceivedMessage = WebhookMessage,
> = HandlerOptions<Request, Context, Message>;

/** The handler that {@link webhookHandler} runs for a verified webhook. `context` is the platform's second argument. */
export type WebhookHandler<Context = unknown, Message extends ReceivedMessage = WebhookMessage> = (
  webhook: VerifiedWebhook<Message>,
  request: Request,
  context: Context,
) => Response | Promise<Response>;

/** A fetch-style handler: what Hono, Next.js, Bun, Deno and Workers call with a request. */
export type FetchHandler<Context = unknown> = (
  request: Request,
  ...context: undefined extends Context ? [context?: Context] : [context: Context]
) => Promise<Response>;

function toWebhookRequest<TRequest>(request: Request, own: TRequest): WebhookRequest<TRequest> {
  if (typeof request?.headers?.get !== "function") {
    throw new TypeError("Pass a web-standard Request. In Hono: (c) => handler(c.req.raw).");
  }
  return { method: request.method, headers: request.headers, body: requestBody(request), request: own };
}

/**
 * Verifies a web-standard `Request` and returns its typed message (spec 5.1). You send the response; `toProblem` of
 * `@countersign/core` makes one from an error. {@link webhookHandler} answers by itself.
 *
 * @param request - A request whose body has not been read.
 * @param options - See `ReceiverOptions`. The secret defaults to the environment variable `WEBHOOK_SECRET`.
 * @returns The typed message, the signed bytes and how they were verified.
 * @throws WebhookError that says why the request is rejected.
 * @throws TypeError if the secret is missing, if `dedupe` is set, or if `request` is not a `Request`.
 * @example
 * ```ts
 * const { message } = await verifyWebhook(request, { secret });
 * if (message.type === "track") console.log(message.event);
 * ```
 */
export function verifyWebhook(
  request: Request,
  options: VerifyWebhookOptions<ReceivedMessage> & { readonly allowUnknownTypes: true },
): Promise<VerifiedWebhook<ReceivedMessage>>;
export function verifyWebhook(request: Request, options?: VerifyWebhookOptions): Promise<VerifiedWebhook>;
export async function verifyWebhook<Message extends ReceivedMessage>(
  request: Request,
  options: VerifyWebhookOptions<Message> = {},
): Promise<VerifiedWebhook<Message>> {
  if (options.dedupe !== undefined) {
    throw new TypeError(
      "verifyWebhook() has no dedupe option. To recognise repeats, use webhookHandler() instead.",
    );
  }
  const received = await createReceiver<Request, Message>(options).receive(
    toWebhookRequest(request, request),
  );
  if (received.verdict === "rejected") throw received.error;
  return received.webhook;
}

/**
 * Creates a fetch-style handler, for Hono, Next.js, Bun, Deno, Workers and other platforms that take a `Request` and return
 * a `Response`. It runs `handler` only for authentic, well-formed webhooks (spec 5.1). Any other request is answered with a
 * problem document.
 *
 * @param options - See {@link WebhookHandlerOptions}.
 * @param handler - Gets the verified webhook, the request, and the platform's second argument. Its errors are rethrown, so
 *   that the platform answers 500 and the sender delivers again. Only a `WebhookError` is answered like a rejection.
 * @throws TypeError if the secret or the handler is missing.
 * @example
 * ```ts
 * export const POST = webhookHandler({ secret }, async ({ message }) => {
 *   if (message.type === "track") console.log(message.event);
 *   return new Response(null, { status: 204 });
 * });
 * ```
 */
export function webhookHandler<Context = unknown>(
  options: WebhookHandlerOptions<Context, ReceivedMessage> & { readonly allowUnknownTypes: true },
  handler: WebhookHandler<Context, ReceivedMessage>,
): FetchHandler<Context>;
export function webhookHandler<Context = unknown>(
  options: WebhookHandlerOptions<Context>,
  handler: WebhookHandler<Context>,
): FetchHandler<Context>;
export function webhookHandler<Context, Message extends ReceivedMessage>(
  options: WebhookHandlerOptions<Context, Message>,
  handler: WebhookHandler<Context, Message>,
): (request: Request, context: Context) => Promise<Response> {
  const receiver = createReceiver(withContext(options));
  checkHandler("webhookHandler", handler);
  return (request, context) =>
    answer(receiver, toWebhookRequest(request, { request, context }), options, (webhook) =>
      handler(webhook, request, context),
    );
}

/**
 * A handler for {@link webhookHandler}, and for `lambdaHandler` of `./aws-lambda`, that runs a router from `createRouter`. It answers 204 after the router's handler has
 * run, and with a 422 problem document if the message does not match the router's events.
 *
 * @param router - The handlers.
 * @example
 * ```ts
 * export const POST = webhookHandler({ secret, events }, dispatch(router));
 * ```
 */
export function dispatch(
  router: Pick<WebhookRouter, "dispatch">,
): (webhook: Parameters<WebhookRouter["dispatch"]>[0]) => Promise<Response> {
  return async (webhook) => toResponse(await router.dispatch(webhook));
}
