// Arguments that are defaults here are not in an app that augments WebhookTypes.
/* oxlint-disable typescript/no-unnecessary-type-arguments */
import { Readable } from "node:stream";
import {
  createReceiver,
  toProblem,
  WebhookError,
  type ReceivedMessage,
  type ReceiverOptions,
  type VerifiedWebhook,
  type WebhookRouter,
} from "@countersign/core";
import { settleWhenSent, toWebhookRequest } from "@countersign/core/node";
import type { FastifyPluginAsync, FastifyReply, FastifyRequest } from "fastify";
import fp from "fastify-plugin";

/**
 * What the messages of an app may be, which Fastify's types can only be told once for the whole app. Where you set
 * `allowUnknownTypes`, say so, and `request.webhook.message` may be an `UnknownMessage` too:
 *
 * @example
 * ```ts
 * declare module "@countersign/fastify" {
 *   interface WebhookTypes { allowUnknownTypes: true }
 * }
 * ```
 */
export interface WebhookTypes {}

type AllowUnknown = WebhookTypes extends { allowUnknownTypes: true } ? true : false;

declare module "fastify" {
  interface FastifyRequest {
    /** The verified webhook. Set in the scopes where `verifyWebhook` is registered, and there alone. */
    webhook: VerifiedWebhook<ReceivedMessage<AllowUnknown>>;
  }
}

/** Options of {@link verifyWebhook}: those of every receiver. Functions are given the Fastify request. */
export type VerifyWebhookOptions = ReceiverOptions<FastifyRequest, AllowUnknown>;

/** What register() takes for itself, and hands on among the options. */
interface RegisterOptions {
  prefix?: string;
  logLevel?: string;
  logSerializers?: object;
}

const ALREADY_READ =
  "Something read the request before verifyWebhook and did not keep the bytes in rawBody. " +
  "Register verifyWebhook before it, in the same scope.";

const plugin: FastifyPluginAsync<VerifyWebhookOptions> = async (scope, given) => {
  if (typeof scope?.addHook !== "function") {
    throw new TypeError(
      "verifyWebhook is a Fastify plugin, to be registered: await scope.register(verifyWebhook, { secret }).",
    );
  }
  const { prefix, logLevel, logSerializers, ...options }: VerifyWebhookOptions & RegisterOptions = given;
  const receiver = createReceiver(options);
  scope.decorateRequest("webhook");
  // Fastify's own JSON parser would refuse __proto__ and constructor keys, and answer errors its own way.
  scope.removeAllContentTypeParsers();
  scope.addContentTypeParser("*", (request, _payload, done) => done(null, request.webhook?.message));
  // Before parsing, where every request comes past: one without a body, or of a type that no parser takes, too.
  scope.addHook("preParsing", async (request, reply, payload) => {
    if (request.is404) return payload;
    const received = await receiver.receive(
      toWebhookRequest(request.raw, {
        request,
        kept: request,
        stream: payload,
        alreadyReadHint: ALREADY_READ,
      }),
    );
    if (received.verdict === "rejected") {
      if (options.onError === "throw") throw received.error;
      return refuse(reply, received.error);
    }
    if (received.verdict === "duplicate") return reply.code(200).send();
    settleWhenSent(received, reply.raw);
    request.webhook = received.webhook;
    // For other hooks and parsers of the scope, which would wait for the stream that has been read.
    return Readable.from([received.webhook.rawBody], { objectMode: false });
  });
};

/**
 * Fastify plugin, for Fastify 4 and 5, that lets only authentic, well-formed webhooks through (spec 5.1) to every route
 * of the scope it is registered in. Other scopes keep their parsers.
 *
 * `request.webhook.message`, and `request.body`, is then the typed message, to be narrowed on `type`. Anything else is
 * answered with a 4xx problem document and goes no further.
 *
 * Options: see `ReceiverOptions`. The secret defaults to the environment variable `WEBHOOK_SECRET`. Registering rejects
 * with a TypeError if there is no secret.
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
 * A route handler that runs a router from `createRouter`: 204 when its handler returns, a 422 problem document for a
 * message that does not fit the router's events, the app's own error handling when the handler throws, so that the
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
): (request: FastifyRequest, reply: FastifyReply) => Promise<FastifyReply> {
  return async (request, reply) => {
    try {
      await router.dispatch(request.webhook);
      return reply.code(204).send();
    } catch (error) {
      if (error instanceof WebhookError) return refuse(reply, error);
      throw error;
    }
  };
}

function refuse(reply: FastifyReply, error: WebhookError): FastifyReply {
  const { status, headers, body } = toProblem(error);
  return reply.code(status).headers(headers).send(body);
}
