// Arguments that are defaults here are not in an app that augments WebhookTypes.
/* oxlint-disable typescript/no-unnecessary-type-arguments */
import {
  createReceiver,
  type AcceptedMessage,
  type ReceiverOptions,
  type VerifiedWebhook,
  type WebhookResponse,
  type WebhookRouter,
} from "@countersign/core";
import { settleWhenSent, toError, toWebhookRequest } from "@countersign/core/node";
import type { Context, Middleware } from "koa";

/**
 * Which messages the app accepts. Koa's types can be augmented only once, for the whole app. If you set
 * `allowUnknownTypes`, declare it, and `ctx.state.webhook.message` may be an `UnknownMessage`, too:
 *
 * @example
 * ```ts
 * import "@countersign/koa";
 *
 * declare module "@countersign/koa" {
 *   interface WebhookTypes { allowUnknownTypes: true }
 * }
 * ```
 */
export interface WebhookTypes {}

/** A message that the app accepts; see {@link WebhookTypes}. */
export type AppMessage = AcceptedMessage<WebhookTypes>;

/** Options of {@link verifyWebhook}: those of every receiver. Functions get the Koa context. */
export type VerifyWebhookOptions = ReceiverOptions<Context, AppMessage>;

/** The fields that {@link verifyWebhook} adds to `ctx.state`, and so to the type of the handlers after it. */
export interface WebhookState {
  /** The verified webhook: its message and how it was verified. Set only on routes with `verifyWebhook()`. */
  webhook: VerifiedWebhook<AppMessage>;
}

declare module "koa" {
  interface DefaultState extends WebhookState {}
}

const ALREADY_READ =
  "A body parser read the request before verifyWebhook() and did not keep its text in ctx.request.rawBody. " +
  "Mount verifyWebhook() before it, or set includeUnparsed of koa-body, which is strapi::body in Strapi.";

/**
 * Koa middleware, for Koa 2 and 3, that lets only authentic, well-formed webhooks through (spec 5.1).
 *
 * `ctx.state.webhook` then has the typed message, to be narrowed on `type`, the signed bytes and how they were verified.
 * `ctx.request.body` is the message, too. Any other request is answered with a problem document and reaches no handler. It
 * works before and after `koa-bodyparser` and `@koa/bodyparser`.
 *
 * @param options - See `ReceiverOptions`. The secret defaults to the environment variable `WEBHOOK_SECRET`.
 * @throws TypeError if the secret is missing.
 * @example
 * ```ts
 * router.post("/webhooks", verifyWebhook({ secret }), (ctx) => {
 *   const { message } = ctx.state.webhook;
 *   if (message.type === "track") console.log(message.event);
 *   ctx.status = 204;
 * });
 * ```
 */
export function verifyWebhook(options: VerifyWebhookOptions = {}): Middleware<WebhookState> {
  const receiver = createReceiver<Context, AppMessage>(options);
  return async (ctx, next) => {
    // Koa's context type declares its own state type; at run time it is the same context.
    const request = toWebhookRequest(ctx.req, {
      request: ctx as unknown as Context,
      kept: keptOf(ctx.request),
      verified: ctx.state.webhook,
      alreadyReadHint: ALREADY_READ,
    });
    const received = await receiver.receive(request).catch((thrown: unknown) => {
      // Koa takes a missing error for none, and would never answer.
      throw toError(thrown);
    });
    if (received.verdict !== "verified") {
      send(ctx, received.response);
      return;
    }
    ctx.state.webhook = received.webhook;
    // A body parser that comes later would fail, since the body has been read. Those of Koa skip a request that has a value here.
    (ctx.request as typeof ctx.request & { body: unknown }).body = received.webhook.message;
    settleWhenSent(received, ctx.res);
    let status = 500;
    try {
      await next();
      ({ status } = ctx);
    } finally {
      // Koa does not end a response whose sender has disconnected, but such a sender delivers again.
      if (!ctx.writable) await received.settle(status);
    }
  };
}

/**
 * Ends a route by running a router from `createRouter`. It sends 204 after the handler has run, and a 422 problem document
 * for a message that does not match the router's events. Errors of the handler go to the app's error handling, so that the
 * sender delivers again.
 *
 * @param router - The handlers.
 * @example
 * ```ts
 * router.post("/webhooks", verifyWebhook({ secret }), dispatch(handlers));
 * ```
 */
export function dispatch(router: Pick<WebhookRouter, "dispatch">): Middleware<WebhookState> {
  return async (ctx) => send(ctx, await router.dispatch(ctx.state.webhook));
}

/** Where `koa-body` up to version 6, which Strapi 5 has, keeps the text with `includeUnparsed`: on the value that it parsed. */
const UNPARSED = Symbol.for("unparsedBody");

function keptOf(request: object): { readonly rawBody: unknown; readonly body: unknown } {
  const { rawBody, body } = request as { rawBody?: unknown; body?: { [UNPARSED]?: unknown } | null };
  return { rawBody: rawBody ?? body?.[UNPARSED], body };
}

function send(ctx: Pick<Context, "status" | "set" | "body">, response: WebhookResponse): void {
  ctx.status = response.status;
  ctx.set(response.headers);
  // With a 204, Koa sends neither an empty text nor its media type.
  ctx.body = response.body;
}
