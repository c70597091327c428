import {
  createReceiver,
  readStream,
  toProblem,
  type ReceivedMessage,
  type ReceiverOptions,
  type SecretFunction,
  type VerifiedWebhook,
  type WebhookRequest,
  type WebhookRouter,
} from "@countersign/core";

/** Options of {@link verifyWebhook}: those of every receiver, without what only an answer could settle. */
export type VerifyWebhookOptions<AllowUnknown extends boolean = false> = Omit<
  ReceiverOptions<Request, AllowUnknown>,
  "dedupe" | "onError"
>;

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

const ALREADY_READ =
  "Something read request.body before verifyWebhook(), and a body can be read once. Verify first, read request.clone() " +
  "before, or pass new Request(request, { body: bytes }) with the bytes that were read.";

function toWebhookRequest(request: Request): WebhookRequest<Request> {
  const { body, method, headers } = request;
  if (request.bodyUsed || body?.locked) {
    return { method, headers, body: { from: "gone", hint: ALREADY_READ }, request };
  }
  const read = async (limits: { maxBytes: number }): Promise<Uint8Array> =>
    body === null ? new Uint8Array() : readStream(body, limits);
  return { method, headers, body: { from: "stream", read }, request };
}

/**
 * The authentic, well-formed message of a web-standard `Request` (spec 5.1). The answer is left to you: `toProblem` of
 * `@countersign/core` makes one of an error. {@link webhookHandler} answers by itself.
 *
 * @param request - A request whose body has not been read.
 * @param options - See `ReceiverOptions`. The secret defaults to the environment variable `WEBHOOK_SECRET`.
 * @returns The typed message, its exact bytes and how it was verified.
 * @throws WebhookError naming why the request is refused.
 * @throws TypeError if there is no secret.
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
 *   thrown on, so that the platform answers 500 and the sender delivers again.
 * @throws TypeError if there is no secret.
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
  return async (request, ...context) => {
    const received = await receiver.receive(toWebhookRequest(request), ...context);
    if (received.verdict === "rejected") {
      if (options.onError === "throw") throw received.error;
      const { body, ...init } = toProblem(received.error);
      return new Response(body, init);
    }
    if (received.verdict === "duplicate") return new Response(null, { status: 200 });
    let status = 500;
    try {
      const response = await handler(received.webhook, request, ...context);
      status = response.status;
      return response;
    } finally {
      await received.settle(status);
    }
  };
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
