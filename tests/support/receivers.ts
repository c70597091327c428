import { createServer, type RequestListener, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import {
  createReceiver,
  type ReceiverOptions,
  type UnknownMessage,
  type VerifiedWebhook,
  type WebhookMessage,
} from "@countersign/core";
import { sendProblem, settleWhenSent, toWebhookRequest } from "@countersign/core/node";
import * as forExpress from "@countersign/express";
import * as forFastify from "@countersign/fastify";
import * as forFetch from "@countersign/fetch";
import * as forKoa from "@countersign/koa";
import { createAdaptorServer } from "@hono/node-server";
import express5 from "express";
import express4 from "express4";
import fastify5 from "fastify";
import fastify4 from "fastify4";
import { Hono } from "hono";
import Koa3 from "koa";
import Koa2 from "koa2";

/** What a receiver is started with: options of every adapter, and what its route does with a verified webhook. */
export interface StartOptions extends ReceiverOptions {
  /** Answers 204 when it returns; what it throws is left to the framework. */
  readonly handle?: (webhook: VerifiedWebhook<WebhookMessage | UnknownMessage>) => void | Promise<void>;
}

/** A receiver that runs. */
export interface RunningReceiver {
  readonly url: string;
  readonly server: Server;
  close(): Promise<void>;
}

/** An adapter on one version of its framework. `mount` makes a server of it that listens nowhere yet. */
export interface Receiver {
  readonly name: string;
  readonly mount: (options: StartOptions) => Server | Promise<Server>;
}

/** The path every receiver listens on, for all methods. */
export const PATH = "/webhooks";

function onExpress(express: typeof express5, ...before: express5.RequestHandler[]): Receiver["mount"] {
  return ({ handle, ...options }) => {
    const app = express();
    for (const middleware of before) app.use(middleware);
    app.all(PATH, forExpress.verifyWebhook(options), (req, res, next) => {
      Promise.resolve(req.webhook)
        .then(handle)
        .then(() => res.status(204).end())
        .catch(next);
    });
    return createServer(app);
  };
}

// Version 4 has the parts of version 5 that are used here, under types of its own.
function onFastify(fastify: typeof fastify5): Receiver["mount"] {
  return async ({ handle, ...options }) => {
    const app = fastify({ forceCloseConnections: true });
    await app.register(async (scope) => {
      await scope.register(forFastify.verifyWebhook, options as forFastify.VerifyWebhookOptions);
      scope.all(PATH, async (request, reply) => {
        await handle?.(request.webhook);
        return reply.code(204).send();
      });
    });
    await app.ready();
    return app.server;
  };
}

function onKoa(Koa: typeof Koa3, ...before: Koa3.Middleware[]): Receiver["mount"] {
  return ({ handle, ...options }) => {
    const app = new Koa();
    app.silent = true;
    for (const middleware of before) app.use(middleware);
    app.use(forKoa.verifyWebhook(options));
    app.use(async (ctx) => {
      await handle?.(ctx.state.webhook);
      ctx.status = 204;
    });
    return createServer(app.callback());
  };
}

const onNode: Receiver["mount"] = ({ handle, ...options }) => {
  const receiver = createReceiver(options);
  const listener: RequestListener = (request, response) => {
    receiver
      .receive(toWebhookRequest(request))
      .then(async (received) => {
        if (received.verdict === "rejected") return sendProblem(response, received.error);
        if (received.verdict === "duplicate") return void response.writeHead(200).end();
        settleWhenSent(received, response);
        await handle?.(received.webhook);
        return void response.writeHead(204).end();
      })
      .catch(() => response.writeHead(500).end());
  };
  return createServer(listener);
};

const onHono: Receiver["mount"] = ({ handle, ...options }) => {
  const answer = forFetch.webhookHandler(options, async (webhook) => {
    await handle?.(webhook);
    return new Response(null, { status: 204 });
  });
  const app = new Hono();
  app.all(PATH, (c) => answer(c.req.raw));
  app.onError((_error, c) => c.text("Internal Server Error", 500));
  return createAdaptorServer({ fetch: app.fetch }) as Server;
};

/** Every adapter on every version of its framework, with nothing in front of it. */
export const receivers: readonly Receiver[] = [
  { name: "Express 5", mount: onExpress(express5) },
  { name: "Express 4", mount: onExpress(express4) },
  { name: "Fastify 5", mount: onFastify(fastify5) },
  { name: "Fastify 4", mount: onFastify(fastify4 as unknown as typeof fastify5) },
  { name: "Koa 3", mount: onKoa(Koa3) },
  { name: "Koa 2", mount: onKoa(Koa2) },
  { name: "node:http", mount: onNode },
  { name: "fetch in Hono", mount: onHono },
];

/** Starts a receiver on a port of its own. */
export async function start(receiver: Receiver, options: StartOptions): Promise<RunningReceiver> {
  const server = await receiver.mount(options);
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const { port } = server.address() as AddressInfo;
  return {
    url: `http://127.0.0.1:${port}${PATH}`,
    server,
    close: () =>
      new Promise((resolve, reject) => {
        server.close((error) => (error === undefined ? resolve() : reject(error)));
        server.closeAllConnections();
      }),
  };
}
