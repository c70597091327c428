import { createReceiver, toProblem, WebhookError } from "@countersign/core";
import type { ReceivedMessage, ReceiverOptions, VerifiedWebhook, WebhookRouter } from "@countersign/core";
import { settleWhenSent, toWebhookRequest } from "@countersign/core/node";
import type { Context, Middleware } from "koa";

const ALREADY_READ =
  "A body parser read the request before verifyWebhook() and did not keep its text in ctx.request.rawBody. " +
  "Mount verifyWebhook() before it.";

/** Options of {@link verifyWebhook}: those of every receiver. Functions are given the Koa context. */
export type VerifyWebhookOptions<AllowUnknown extends boolean = false> = ReceiverOptions<
  Context,
  AllowUnknown
>;

declare module "koa" {
  interface DefaultState {
    /** The verified webhook. Set by `verifyWebhook()`, on its routes alone. */
    webhook: VerifiedWebhook<ReceivedMessage<true>>;
  }
}

/** What {@link verifyWebhook} puts into `ctx.state`, and so into the type of the handlers behind it. */
export interface WebhookState<Message extends ReceivedMessage<true> = ReceivedMessage> {
  webhook: VerifiedWebhook<Message>;
}

/**
 * Koa middleware, for Koa 2 and 3, that lets only authentic, well-formed webhooks through (spec 5.1).
 *
 * `ctx.state.webhook` then has the typed message, to be narrowed on `type`, its exact bytes and how they were verified.
 * Anything else is answered with a 4xx problem document and goes no further. It works before and after `koa-bodyparser`
 * and `@koa/bodyparser`.
 *
 * @param options - See `ReceiverOptions`. The secret defaults to the environment variable `WEBHOOK_SECRET`.
 * @throws TypeError if there is no secret.
 * @example
 * ```ts
 * router.post("/webhooks", verifyWebhook({ secret }), (ctx) => {
 *   const { message } = ctx.state.webhook;
 *   if (message.type === "track") console.log(message.event);
 *   ctx.status = 204;
 * });
 * ```
 */
export function verifyWebhook<AllowUnknown extends boolean = false>(
  options: VerifyWebhookOptions<AllowUnknown> = {},
): Middleware<WebhookState<ReceivedMessage<AllowUnknown>>> {
  const receiver = createReceiver(options);
  return async (ctx, next) => {
    const received = await receiver.receive(
      // Koa's own type of a context has a state of its own; it is the same context.
      toWebhookRequest(ctx.req, {
        request: ctx as unknown as Context,
        kept: ctx.request,
        alreadyReadHint: ALREADY_READ,
      }),
    );
    if (received.verdict === "rejected") {
      if (options.onError === "throw") throw received.error;
      refuse(ctx, received.error);
      return;
    }
    if (received.verdict === "duplicate") {
      ctx.status = 200;
      ctx.body = "";
      return;
    }
    ctx.state.webhook = received.webhook;
    settleWhenSent(received, ctx.res);
    let status = 500;
    try {
      await next();
      ({ status } = ctx);
    } finally {
      // Koa does not end a response whose sender has hung up, but such a sender delivers again.
      if (!ctx.writable) await received.settle(status);
    }
  };
}

/**
 * Ends a route by running a router from `createRouter`: 204 when its handler returns, a 422 problem document for a
 * message that does not fit the router's events, the app's own error handling when the handler throws, so that the
 * sender delivers again.
 *
 * @param router - The handlers.
 * @example
 * ```ts
 * router.post("/webhooks", verifyWebhook({ secret }), dispatch(handlers));
 * ```
 */
export function dispatch(
  router: Pick<WebhookRouter, "dispatch">,
): Middleware<WebhookState<ReceivedMessage<true>>> {
  return async (ctx) => {
    try {
      await router.dispatch(ctx.state.webhook);
      ctx.status = 204;
    } catch (error) {
      if (!(error instanceof WebhookError)) throw error;
      refuse(ctx, error);
    }
  };
}

function refuse(ctx: Pick<Context, "status" | "set" | "body">, error: WebhookError): void {
  const { status, headers, body } = toProblem(error);
  ctx.status = status;
  ctx.set(headers);
  ctx.body = body;
}
