import {
  createReceiver,
  requestBody,
  toProblem,
  WebhookError,
  type ReceivedMessage,
  type ReceiverOptions,
  type SecretFunction,
  type VerifiedWebhook,
  type WebhookRequest,
  type WebhookRouter,
} from "@countersign/core";

/** Options of {@link verifyWebhook}: those of every receiver, without what takes an answer. */
export interface VerifyWebhookOptions<AllowUnknown extends boolean = false> extends Omit<
  ReceiverOptions<Request, AllowUnknown>,
  "dedupe" | "onError"
> {
  /** Only {@link webhookHandler} learns how a delivery was answered, and so whether a repeat must be handled. */
  readonly dedupe?: never;
}

/**
 * Options of {@link webhookHandler}: those of every receiver. Functions are given the `Request` and, after it, whatever
 * else the platform calls the handler with: `env` and `ctx` in a Worker, the route's parameters in Next.js.
 */
export type WebhookHandlerOptions<
  Context extends readonly unknown[] = readonly unknown[],
  AllowUnknown extends boolean = false,
> = ReceiverOptions<Request, AllowUnknown, Context>;

/** What {@link webhookHandler} runs for a verified webhook. `context` is what the platform passes after the request. */
export type WebhookHandler<
  Context extends readonly unknown[] = readonly unknown[],
  AllowUnknown extends boolean = false,
> = (
  webhook: VerifiedWebhook<ReceivedMessage<AllowUnknown>>,
  request: Request,
  ...context: Context
) => Response | Promise<Response>;

/** A fetch-style handler: what Hono, Next.js, Bun, Deno and Workers call with a request. */
export type FetchHandler<Context extends readonly unknown[] = readonly unknown[]> = (
  request: Request,
  ...context: Context
) => Promise<Response>;

/** The context that another parameter decides. NoInfer<Context> itself would no longer count as a tuple. */
type Fixed<Context extends readonly unknown[]> = { [Index in keyof Context]: NoInfer<Context[Index]> };

function toWebhookRequest(request: Request): WebhookRequest<Request> {
  if (typeof request?.headers?.get !== "function") {
    throw new TypeError("A web-standard Request is needed. In Hono: (c) => handler(c.req.raw).");
  }
  return { method: request.method, headers: request.headers, body: requestBody(request), request };
}

/**
 * The authentic, well-formed message of a web-standard `Request` (spec 5.1). The answer is left to you: `toProblem` of
 * `@countersign/core` makes one of an error. {@link webhookHandler} answers by itself.
 *
 * @param request - A request whose body has not been read.
 * @param options - See `ReceiverOptions`. The secret defaults to the environment variable `WEBHOOK_SECRET`.
 * @returns The typed message, its exact bytes and how it was verified.
 * @throws WebhookError naming why the request is refused.
 * @throws TypeError if there is no secret, if there is a dedupe store, or if `request` is not a `Request`.
 * @example
 * ```ts
 * const { message } = await verifyWebhook(request, { secret });
 * if (message.type === "track") console.log(message.event);
 * ```
 */
export async function verifyWebhook<AllowUnknown extends boolean = false>(
  request: Request,
  options: VerifyWebhookOptions<AllowUnknown> = {},
): Promise<VerifiedWebhook<ReceivedMessage<AllowUnknown>>> {
  if (options.dedupe !== undefined)
    throw new TypeError("To dedupe deliveries, use webhookHandler() instead.");
  const received = await createReceiver(options).receive(toWebhookRequest(request));
  if (received.verdict === "rejected") throw received.error;
  return received.webhook;
}

/**
 * A fetch-style handler, for Hono, Next.js, Bun, Deno, Workers and whatever else takes a `Request` and gives a
 * `Response`, that runs `handler` for authentic, well-formed webhooks alone (spec 5.1). Anything else is answered with
 * a 4xx problem document.
 *
 * @param options - See {@link WebhookHandlerOptions}.
 * @param handler - Is given the verified webhook, the request, and what else the platform passes. What it throws is
 *   thrown on, so that the platform answers 500 and the sender delivers again; only a `WebhookError`, as of a router whose
 *   events the message does not fit, is answered like a refusal.
 * @throws TypeError if there is no secret or no handler.
 * @example
 * ```ts
 * export const POST = webhookHandler({ secret }, async ({ message }) => {
 *   if (message.type === "track") console.log(message.event);
 *   return new Response(null, { status: 204 });
 * });
 * ```
 */
export function webhookHandler<Context extends readonly unknown[], AllowUnknown extends boolean = false>(
  options: WebhookHandlerOptions<Context, AllowUnknown> & { secret: SecretFunction<Request, Context> },
  handler: WebhookHandler<Fixed<Context>, AllowUnknown>,
): FetchHandler<Context>;
export function webhookHandler<Context extends readonly unknown[], AllowUnknown extends boolean = false>(
  options: WebhookHandlerOptions<Fixed<Context>, AllowUnknown>,
  handler: WebhookHandler<Context, AllowUnknown>,
): FetchHandler<Context>;
export function webhookHandler<Context extends readonly unknown[], AllowUnknown extends boolean>(
  options: WebhookHandlerOptions<Context, AllowUnknown>,
  handler: WebhookHandler<Context, AllowUnknown>,
): FetchHandler<Context> {
  const receiver = createReceiver(options);
  if (typeof handler !== "function") {
    throw new TypeError(
      "webhookHandler() needs a handler: webhookHandler({ secret }, ({ message }) => ...).",
    );
  }
  const refuse = (error: unknown): Response => {
    if (!(error instanceof WebhookError) || options.onError === "throw") throw error;
    const { body, ...init } = toProblem(error);
    return new Response(body, init);
  };
  return async (request, ...context) => {
    const received = await receiver.receive(toWebhookRequest(request), ...context);
    if (received.verdict === "rejected") return refuse(received.error);
    if (received.verdict === "duplicate") return new Response(null, { status: 200 });
    let status = 500;
    try {
      const response = await handler(received.webhook, request, ...context);
      assertResponse(response);
      status = response.status;
      return response;
    } catch (error) {
      // A router with events of its own refuses what does not fit them; the other frameworks know its status, too.
      return refuse(error);
    } finally {
      await received.settle(status);
    }
  };
}

// By its status, not its class: a platform's Response need not be this realm's.
function assertResponse(response: Partial<Response> | undefined): void {
  if (typeof response?.status === "number") return;
  throw new TypeError(
    `The webhook's handler must return a Response, but returned ${response === null ? "null" : typeof response}. ` +
      "For no content: new Response(null, { status: 204 }).",
  );
}

/**
 * A handler for {@link webhookHandler} that runs a router from `createRouter`: 204 when its handler returns.
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
  return async (webhook) => {
    await router.dispatch(webhook);
    return new Response(null, { status: 204 });
  };
}
