// Arguments that are defaults here are not in an app that augments WebhookTypes.
/* oxlint-disable typescript/no-unnecessary-type-arguments */
import { Readable } from "node:stream";
import {
  createReceiver,
  type AcceptedMessage,
  type ReceiverOptions,
  type VerifiedWebhook,
  type WebhookResponse,
  type WebhookRouter,
} from "@countersign/core";
import { settleWhenSent, toError, toWebhookRequest } from "@countersign/core/node";
import type { FastifyPluginAsync, FastifyReply, FastifyRequest, RouteHandlerMethod } from "fastify";
import fp from "fastify-plugin";

/**
 * Which messages the app accepts. Fastify's types can be augmented only once, for the whole app. If you set
 * `allowUnknownTypes`, declare it, and `request.webhook.message` may be an `UnknownMessage`, too:
 *
 * @example
 * ```ts
 * import "@countersign/fastify";
 *
 * declare module "@countersign/fastify" {
 *   interface WebhookTypes { allowUnknownTypes: true }
 * }
 * ```
 */
export interface WebhookTypes {}

/** A message that the app accepts; see {@link WebhookTypes}. */
export type AppMessage = AcceptedMessage<WebhookTypes>;

declare module "fastify" {
  interface FastifyRequest {
    /** The verified webhook. Set only in scopes where `verifyWebhook` is registered. */
    webhook: VerifiedWebhook<AppMessage>;
  }
}

/** Options of {@link verifyWebhook}: those of every receiver. Functions get the Fastify request. */
export type VerifyWebhookOptions = ReceiverOptions<FastifyRequest, AppMessage>;

/** What register() takes for itself, and passes to the plugin among the options. */
interface RegisterOptions {
  prefix?: string;
  logLevel?: string;
  logSerializers?: object;
}

const ALREADY_READ =
  "Something read the request before verifyWebhook and did not keep the bytes in rawBody. " +
  "Register verifyWebhook before it, in the same scope.";

const NO_REQUEST_TIMEOUT =
  "Fastify's requestTimeout is 0, so the server never disconnects a client that does not finish its request. Set it: " +
  "fastify({ requestTimeout: 30_000 }).";

const plugin: FastifyPluginAsync<VerifyWebhookOptions> = async (scope, given) => {
  if (typeof scope?.addHook !== "function") {
    throw new TypeError(
      "verifyWebhook is a Fastify plugin. Register it: await scope.register(verifyWebhook, { secret }).",
    );
  }
  const { prefix, logLevel, logSerializers, ...options }: VerifyWebhookOptions & RegisterOptions = given;
  const receiver = createReceiver<FastifyRequest, AppMessage>(options);
  if (scope.server.requestTimeout === 0) scope.log.warn(NO_REQUEST_TIMEOUT);
  scope.decorateRequest("webhook");
  // Fastify's own JSON parser would reject __proto__ and constructor keys, and send its own error responses.
  scope.removeAllContentTypeParsers();
  // Fastify remembers which pattern a type matches, but not that it matches none. An app's own parser of a type comes first.
  for (const type of [/^application\/json/, "*"])
    scope.addContentTypeParser(type, (request, _payload, done) => done(null, bodyOf(request)));
  if (options.dedupe !== undefined) {
    scope.addHook("onRoute", (route) => {
      route.handler = keepAnswer(route.handler);
    });
  }
  // Before parsing, which every request reaches: also one without a body, or of a type that no parser takes.
  scope.addHook("preParsing", (request, reply, payload, done) => {
    if (request.is404) return done(null, payload);
    receiver.decide(
      toWebhookRequest(request.raw, {
        request,
        kept: request,
        stream: payload,
        alreadyReadHint: ALREADY_READ,
      }),
      (received) => {
        if (received.verdict !== "verified") {
          send(reply, received.response);
          return;
        }
        settleWhenSent(received, reply.raw);
        request.webhook = received.webhook;
        done(null, new SignedBody(received.webhook.rawBody, Number(request.headers["content-length"])));
      },
      (thrown) => done(toError(thrown)),
    );
  });
};

/**
 * Holds Fastify to the handler's own answer where the sender has disconnected. Fastify 5 does not send an answer of nothing then, so
 * that the claim expires and the handler runs again. Fastify 4 sends one for a handler that has returned the reply, and has not
 * answered yet: if it then fails, its delivery counts as handled.
 */
function keepAnswer(handler: RouteHandlerMethod): RouteHandlerMethod {
  return function answer(request, reply) {
    const returned: unknown = handler.call(this, request, reply);
    if (!(returned instanceof Promise)) return returned;
    let isLeftToReply = false;
    const then = reply.then.bind(reply);
    // oxlint-disable-next-line unicorn/no-thenable -- it is one, and only this tells that a handler has returned it
    reply.then = (...callbacks) => {
      isLeftToReply = true;
      then(...callbacks);
    };
    return returned.then((payload: unknown) => {
      if (payload !== undefined || reply.sent || reply.raw.headersSent) return payload;
      // The reply resolves when it was sent, and when nobody is there any more. Whoever sends it needs no more than the reply.
      if (isLeftToReply) return new Promise(() => {});
      const { aborted, socket } = request.raw;
      // Fastify sends null whoever is there, and as it sends nothing: without a body.
      return aborted || socket.destroyed ? null : undefined;
    });
  };
}

/** The message, or a copy where the route has a schema of the body: Fastify removes fields and coerces types in what it checks. */
function bodyOf({ webhook, routeOptions }: FastifyRequest): unknown {
  // The routeOptions of early versions of Fastify 4 tell no schema, whether there is one or not.
  const isChecked = !("schema" in routeOptions) || routeOptions.schema?.body !== undefined;
  return isChecked ? structuredClone(webhook?.message) : webhook?.message;
}

/**
 * For other hooks and parsers of the scope, which would wait for the stream that has been read. What they get is what was
 * signed, which need not have the length of what came.
 */
class SignedBody extends Readable {
  /** Fastify compares it with the declared length. */
  readonly receivedEncodedLength: number;
  readonly #bytes: Uint8Array;

  constructor(bytes: Uint8Array, receivedEncodedLength: number) {
    super();
    this.#bytes = bytes;
    this.receivedEncodedLength = receivedEncodedLength;
  }

  override _read(): void {
    this.push(this.#bytes);
    this.push(null);
  }
}

/**
 * Fastify plugin, for Fastify 4 and 5, that lets only authentic, well-formed webhooks through (spec 5.1) to every route of
 * the scope in which it is registered. Other scopes keep their parsers.
 *
 * `request.webhook.message` and `request.body` are then the typed message, to be narrowed on `type`. Any other request is
 * answered with a problem document and reaches no handler.
 *
 * Options: see `ReceiverOptions`. The secret defaults to the environment variable `WEBHOOK_SECRET`. Registering rejects
 * with a TypeError if the secret is missing. It logs a warning if the server has no `requestTimeout`.
 *
 * @example
 * ```ts
 * app.register(async (scope) => {
 *   await scope.register(verifyWebhook, { secret });
 *   scope.post("/webhooks", async (request, reply) => {
 *     const { message } = request.webhook;
 *     if (message.type === "track") console.log(message.event);
 *     return reply.code(204).send();
 *   });
 * });
 * ```
 */
export const verifyWebhook: FastifyPluginAsync<VerifyWebhookOptions> = fp(plugin, {
  name: "@countersign/fastify",
  fastify: "4.x || 5.x",
});

/**
 * A route handler that runs a router from `createRouter`. It sends 204 after the handler has run, and a 422 problem document
 * for a message that does not match the router's events. Errors of the handler go to the app's error handling, so that the
 * sender delivers again.
 *
 * @param router - The handlers.
 * @example
 * ```ts
 * scope.post("/webhooks", dispatch(router));
 * ```
 */
export function dispatch(
  router: Pick<WebhookRouter, "dispatch">,
): (request: Pick<FastifyRequest, "webhook">, reply: { send(...payload: never): unknown }) => Promise<void> {
  return async (request, reply) =>
    // Over HTTP/2, and on a route with a schema of its responses, a reply has another type. At run time it is the same.
    send(reply as unknown as FastifyReply, await router.dispatch(request.webhook));
}

function send(reply: FastifyReply, { status, headers, body }: WebhookResponse): FastifyReply {
  return reply
    .code(status)
    .headers(headers)
    .send(body === "" ? undefined : body);
}
