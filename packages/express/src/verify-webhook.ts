import {
  createReceiver,
  WebhookError,
  type ReceivedMessage,
  type ReceiverOptions,
  type UnknownMessage,
  type VerifiedWebhook,
  type WebhookMessage,
  type WebhookRouter,
} from "@countersign/core";
import { sendProblem, settleWhenSent, toWebhookRequest } from "@countersign/core/node";
import type { Request, RequestHandler } from "express";

declare global {
  // Express types are extended through this namespace, and only through it.
  // oxlint-disable-next-line typescript/no-namespace
  namespace Express {
    interface Request {
      /** How the message in `body` was verified, and its exact bytes. Set by `verifyWebhook()`, on its routes alone. */
      webhook: VerifiedWebhook<WebhookMessage | UnknownMessage>;
    }
  }
}

/** Options of {@link verifyWebhook}: those of every receiver. Functions are given the Express request. */
export type VerifyWebhookOptions<AllowUnknown extends boolean = false> = ReceiverOptions<
  Request,
  AllowUnknown
>;

/** Middleware whose body type flows to the handlers behind it. */
export type WebhookMiddleware<Message> = RequestHandler<Request["params"], unknown, Message>;

const ALREADY_READ =
  "A body parser read the request before verifyWebhook() and did not keep the bytes in req.rawBody or req.body. " +
  "Mount verifyWebhook() before it, or pass { verify: (req, res, buffer) => { req.rawBody = buffer } } to express.json().";

/**
 * Express middleware, for Express 4 and 5, that lets only authentic, well-formed webhooks through (spec 5.1).
 *
 * `req.body` is then the typed message, to be narrowed on `type`, and `req.webhook` has the exact bytes and how they were
 * verified. Anything else is answered with a 4xx problem document and goes no further. It works before and after
 * `express.json()`, `express.raw()` and `express.text()`.
 *
 * @param options - See {@link ReceiverOptions}. The secret defaults to the environment variable `WEBHOOK_SECRET`.
 * @throws TypeError if there is no secret.
 * @example
 * ```ts
 * app.post("/webhooks", verifyWebhook({ secret }), (req, res) => {
 *   if (req.body.type === "track") console.log(req.body.event);
 *   res.sendStatus(204);
 * });
 * ```
 */
export function verifyWebhook<AllowUnknown extends boolean = false>(
  options: VerifyWebhookOptions<AllowUnknown> = {},
): WebhookMiddleware<ReceivedMessage<AllowUnknown>> {
  const receiver = createReceiver(options);
  return (req, res, next) => {
    const request = toWebhookRequest(req, {
      request: req as unknown as Request,
      alreadyReadHint: ALREADY_READ,
    });
    // Express 4 does not wait for promises: every failure has to reach next() by hand.
    receiver
      .receive(request)
      .then((received) => {
        if (received.verdict === "rejected") {
          return options.onError === "throw" ? next(received.error) : sendProblem(res, received.error);
        }
        if (received.verdict === "duplicate") return res.status(200).end();
        settleWhenSent(received, res);
        req.body = received.webhook.message;
        req.webhook = received.webhook;
        return next();
      })
      .catch(next);
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
 * app.post("/webhooks", verifyWebhook({ secret }), dispatch(router));
 * ```
 */
export function dispatch(router: Pick<WebhookRouter, "dispatch">): RequestHandler {
  return (req, res, next) => {
    router
      .dispatch(req.webhook)
      .then(() => res.status(204).end())
      .catch((error: unknown) => (error instanceof WebhookError ? sendProblem(res, error) : next(error)));
  };
}
