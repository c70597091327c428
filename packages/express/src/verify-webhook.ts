// Arguments that are defaults here are not in an app that augments WebhookTypes.
/* oxlint-disable typescript/no-unnecessary-type-arguments */
import {
  createReceiver,
  type AcceptedMessage,
  type ReceivedMessage,
  type ReceiverOptions,
  type VerifiedWebhook,
  type WebhookRouter,
} from "@countersign/core";
import { sendResponse, settleWhenSent, toError, toWebhookRequest } from "@countersign/core/node";
import type { NextFunction, Request, RequestHandler } from "express";
import type { IncomingMessage, ServerResponse } from "node:http";

/**
 * Which messages the app accepts. Express's types can be augmented only once, for the whole app. If you set
 * `allowUnknownTypes`, declare it, and `req.webhook.message` may be an `UnknownMessage`, too:
 *
 * @example
 * ```ts
 * import "@countersign/express";
 *
 * declare module "@countersign/express" {
 *   interface WebhookTypes { allowUnknownTypes: true }
 * }
 * ```
 */
export interface WebhookTypes {}

/** A message that the app accepts; see {@link WebhookTypes}. */
export type AppMessage = AcceptedMessage<WebhookTypes>;

declare global {
  // Express types are extended through this namespace, and only through it.
  // oxlint-disable-next-line typescript/no-namespace
  namespace Express {
    interface Request {
      /** The verified webhook: its message and how it was verified. Set only on routes with `verifyWebhook()`. */
      webhook: VerifiedWebhook<AppMessage>;
    }
  }
}

/** Options of {@link verifyWebhook}: those of every receiver. Functions get the Express request. */
export type VerifyWebhookOptions = ReceiverOptions<Request, AppMessage>;

/**
 * Middleware that types `req.body` for the handlers after it. It names nothing else of Express's request, so that the route
 * infers its parameters as if it were not there.
 */
export type WebhookMiddleware<Message extends ReceivedMessage = AppMessage> = (
  req: IncomingMessage & { body: Message },
  res: ServerResponse,
  next: NextFunction,
) => void;

/**
 * What {@link verifyWebhook} returns. A library that exports it gets a declaration with this name. Without a name of its own, the
 * declaration would name core, which the library need not have installed.
 */
export interface AppMiddleware extends WebhookMiddleware {}

const ALREADY_READ =
  "A body parser read the request before verifyWebhook() and did not keep the bytes. " +
  "Mount verifyWebhook() before it, or pass { verify: (req, res, buffer) => { req.rawBody = buffer } } to express.json().";

/**
 * Express middleware, for Express 4 and 5, that lets only authentic, well-formed webhooks through (spec 5.1).
 *
 * `req.body` is then the typed message, to be narrowed on `type`, and `req.webhook` has the signed bytes and how they were
 * verified. Any other request is answered with a problem document and reaches no handler. It works before and after
 * `express.json()`, `express.raw()` and `express.text()`.
 *
 * @param options - See `ReceiverOptions`. The secret defaults to the environment variable `WEBHOOK_SECRET`.
 * @throws TypeError if the secret is missing.
 * @example
 * ```ts
 * app.post("/webhooks", verifyWebhook({ secret }), (req, res) => {
 *   if (req.body.type === "track") console.log(req.body.event);
 *   res.sendStatus(204);
 * });
 * ```
 */
export function verifyWebhook(options: VerifyWebhookOptions = {}): AppMiddleware {
  const receiver = createReceiver<Request, AppMessage>(options);
  return (incoming, res, next) => {
    const req = incoming as Request;
    const request = toWebhookRequest(req, {
      request: req,
      verified: req.webhook,
      alreadyReadHint: ALREADY_READ,
    });
    receiver.decide(
      request,
      (received) => {
        try {
          if (received.verdict !== "verified") return sendResponse(res, received.response);
          settleWhenSent(received, res);
          req.body = received.webhook.message;
          req.webhook = received.webhook;
          // A body parser that comes later would fail, since the body has been read. Those of Express 4 skip what has this mark.
          (req as Request & { _body?: boolean })._body = true;
          next();
        } catch (error) {
          next(error);
        }
      },
      (thrown) => next(toError(thrown)),
    );
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
 * app.post("/webhooks", verifyWebhook({ secret }), dispatch(router));
 * ```
 */
export function dispatch(router: Pick<WebhookRouter, "dispatch">): RequestHandler {
  return (req, res, next) => {
    router
      .dispatch(req.webhook)
      .then((response) => sendResponse(res, response))
      .catch(next);
  };
}
