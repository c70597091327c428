import { createServer, IncomingMessage, type RequestListener, type Server } from "node:http";
import { Socket, type AddressInfo } from "node:net";
import {
  createReceiver,
  toProblem,
  WebhookError,
  type ReceivedMessage,
  type ReceiverOptions,
  type VerifiedWebhook,
} from "@countersign/core";
import {
  readRawBody,
  sendResponse,
  settleWhenSent,
  toWebhookRequest,
  type NodeRequest,
} from "@countersign/core/node";
import * as forExpress from "@countersign/express";
import * as forFastify from "@countersign/fastify";
import * as forFetch from "@countersign/fetch";
import { lambdaHandler } from "@countersign/fetch/aws-lambda";
import * as forKoa from "@countersign/koa";
import * as forNest from "@countersign/nestjs";
import { bodyParser as koaBodyParser6 } from "@koa/bodyparser";
import { createAdaptorServer } from "@hono/node-server";
import { All, Controller, HttpCode, Module, type NestApplicationOptions } from "@nestjs/common";
import { NestFactory, type AbstractHttpAdapter } from "@nestjs/core";
import { ExpressAdapter } from "@nestjs/platform-express";
import { FastifyAdapter } from "@nestjs/platform-fastify";
import express5 from "express";
import express4 from "express4";
import fastify5 from "fastify";
import fastify4 from "fastify4";
import { Hono, type MiddlewareHandler } from "hono";
import Koa3 from "koa";
import koaBodyParser4 from "koa-bodyparser";
import Koa2 from "koa2";
import { lambdaGateways, lambdaListener, type LambdaGateway } from "./lambda-gateways.ts";

/** What a receiver is started with: options of every adapter, and what its route does with a verified webhook. */
export interface StartOptions extends ReceiverOptions {
  /** Answers 204 when it returns; what it throws is left to the framework. */
  readonly handle?: (webhook: VerifiedWebhook<ReceivedMessage>) => void | Promise<void>;
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
const PATH = "/webhooks";

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
    const callback = app.callback();
    return createServer((request, response) => void callback(request, response));
  };
}

const onNode: Receiver["mount"] = ({ handle, ...options }) => {
  const receiver = createReceiver(options);
  const listener: RequestListener = (request, response) => {
    receiver
      .receive(toWebhookRequest(request))
      .then(async (received) => {
        if (received.verdict !== "verified") return sendResponse(response, received.response);
        settleWhenSent(received, response);
        await handle?.(received.webhook);
        return void response.writeHead(204).end();
      })
      .catch((error: unknown) => {
        if (error instanceof WebhookError) sendResponse(response, toProblem(error));
        else response.writeHead(500).end();
      });
  };
  return createServer(listener);
};

function onHono({ handle, ...options }: StartOptions, ...before: MiddlewareHandler[]): Server {
  const answer = forFetch.webhookHandler(options, async (webhook) => {
    await handle?.(webhook);
    return new Response(null, { status: 204 });
  });
  const app = new Hono();
  for (const middleware of before) app.use(middleware);
  app.all(PATH, (c) => answer(c.req.raw));
  app.onError((_error, c) => c.text("Internal Server Error", 500));
  return createAdaptorServer({ fetch: app.fetch }) as Server;
}

function onNest(adapter: () => AbstractHttpAdapter, settings: NestApplicationOptions): Receiver["mount"] {
  return async ({ handle, ...options }) => {
    @Controller(PATH)
    class WebhooksController {
      @All()
      @HttpCode(204)
      @forNest.VerifyWebhook()
      async receive(@forNest.Webhook() webhook: VerifiedWebhook): Promise<void> {
        await handle?.(webhook);
      }
    }
    @Module({ imports: [forNest.CountersignModule.register(options)], controllers: [WebhooksController] })
    class AppModule {}
    const app = await NestFactory.create(AppModule, adapter(), {
      logger: false,
      abortOnError: false,
      ...settings,
    });
    await app.init();
    const instance = app.getHttpAdapter().getInstance() as { ready?(): PromiseLike<unknown> };
    await instance.ready?.();
    return app.getHttpServer() as Server;
  };
}

/** Every adapter on every version of its framework, with nothing in front of it. */
export const receivers: readonly Receiver[] = [
  { name: "Express 5", mount: onExpress(express5) },
  { name: "Express 4", mount: onExpress(express4) },
  { name: "Fastify 5", mount: onFastify(fastify5) },
  { name: "Fastify 4", mount: onFastify(fastify4 as unknown as typeof fastify5) },
  { name: "Koa 3", mount: onKoa(Koa3) },
  { name: "Koa 2", mount: onKoa(Koa2) },
  { name: "node:http", mount: onNode },
  { name: "fetch in Hono", mount: (options) => onHono(options) },
  {
    name: "Nest on Express, bodyParser: false",
    mount: onNest(() => new ExpressAdapter(), { bodyParser: false }),
  },
];

/** What Fastify's parser refuses by default, so that no guard is asked: properties called `__proto__` and `constructor`. */
const POISONING = { onProtoPoisoning: "ignore", onConstructorPoisoning: "ignore" } as const;

/** Nest, which parses bodies before any guard, and keeps the bytes; with the audits that its parser fails. */
export const nestWithRawBody: readonly (Receiver & { readonly impossible: readonly string[] })[] = [
  {
    name: "Nest on Express, rawBody: true",
    mount: onNest(() => new ExpressAdapter(), { rawBody: true }),
    // Express's parser reads a body that is too large to its end.
    impossible: ["rejects-declared-oversize", "rejects-chunked-oversize"],
  },
  {
    name: "Nest on Fastify, rawBody: true",
    mount: onNest(() => new FastifyAdapter(), { rawBody: true }),
    impossible: ["accepts-prototype-keys"],
  },
  {
    name: "Nest on Fastify, rawBody: true, no poisoning",
    mount: onNest(() => new FastifyAdapter(POISONING), { rawBody: true }),
    impossible: [],
  },
];

/** Nest, which parses bodies before any guard, and keeps only the value. */
const nestWithoutRawBody: readonly Receiver[] = [
  { name: "Nest on Express", mount: onNest(() => new ExpressAdapter(), {}) },
  { name: "Nest on Fastify", mount: onNest(() => new FastifyAdapter(), {}) },
];

/** The request that the app is given in place of one whose body was read. */
type Keep = (request: NodeRequest, bytes: Uint8Array) => NodeRequest;

/** A platform that reads the body before the app is asked, and passes on what `keep` makes of the request. */
function behindPlatform(keep: Keep, { name, mount }: Receiver): Receiver["mount"] {
  return async (options) => {
    const server = await mount(options);
    const [app] = server.listeners("request") as RequestListener[];
    if (app === undefined) throw new Error(`${name} listens to no request.`);
    server.removeAllListeners("request");
    return server.on("request", (request: NodeRequest, response) => {
      readRawBody(request, { maxBytes: 1_048_576 })
        .then((bytes) => app(keep(request, bytes), response))
        .catch((error: unknown) => response.writeHead(error instanceof WebhookError ? 413 : 400).end());
    });
  };
}

const keepParsed: Keep = (request, bytes) => {
  if (bytes.length > 0) request.body = JSON.parse(Buffer.from(bytes).toString());
  return request;
};

const keepBytes: Keep = (request, bytes) => {
  // Some parsers' types say that IncomingMessage.rawBody is text, which holds for them alone.
  Object.assign(request, { rawBody: bytes });
  return keepParsed(request, bytes);
};

/** What serverless-http and serverless-express pass to an app: a request with the bytes in `body`, and their length as a number. */
const makeOfEvent: Keep = ({ method, url, headers }, bytes) => {
  const body = Buffer.from(bytes);
  const request = new IncomingMessage(new Socket());
  return Object.assign(request, {
    complete: true,
    httpVersion: "1.1",
    httpVersionMajor: 1,
    httpVersionMinor: 1,
    method,
    url,
    headers: { ...headers, "content-length": body.length },
    body,
    // Not of a class: Express gives requests a prototype of its own.
    _read(): void {
      request.push(body);
      request.push(null);
    },
  });
};

/** An AWS Lambda function behind a service that makes an event of each request, and a response of each result. */
function onLambda(gateway: LambdaGateway): Receiver["mount"] {
  return ({ handle, ...options }) => {
    const invoke = lambdaHandler(options, async (webhook) => {
      await handle?.(webhook);
      return new Response(null, { status: 204 });
    });
    return createServer(lambdaListener(gateway, invoke));
  };
}

/** A Lambda function behind each of the services that call it for a request. */
export const onLambdas: readonly Receiver[] = lambdaGateways.map((gateway) => ({
  name: `Lambda, ${gateway.name}`,
  mount: onLambda(gateway),
}));

/** Does as `koa-body` up to version 6 with `includeUnparsed`, which Strapi 5 has: it keeps the text on the value that it parsed. */
const keepUnparsed: Koa3.Middleware = async (ctx, next) => {
  const text = Buffer.from(await readRawBody(ctx.req, { maxBytes: 1_048_576 })).toString();
  const body: object = text === "" ? {} : (JSON.parse(text) as object);
  Object.assign(ctx.request, { body: Object.assign(body, { [Symbol.for("unparsedBody")]: text }) });
  await next();
};

const nodeReceivers = receivers.filter(({ name }) => name !== "fetch in Hono");

/** Receivers behind something that reads the body before them and keeps its bytes or its text. */
export const behindRaw: readonly Receiver[] = [
  ...[
    { version: "Express 5", express: express5 },
    { version: "Express 4", express: express4 },
  ].flatMap(({ version, express }) => [
    {
      name: `${version}, express.raw()`,
      mount: onExpress(express, express.raw({ type: "*/*", limit: "1mb" })),
    },
    {
      name: `${version}, express.text()`,
      mount: onExpress(express, express.text({ type: "*/*", limit: "1mb" })),
    },
    {
      name: `${version}, express.json({ verify })`,
      mount: onExpress(
        express,
        express.json({
          limit: "1mb",
          verify: (request, _response, rawBody) => void Object.assign(request, { rawBody }),
        }),
      ),
    },
  ]),
  { name: "Koa 3, @koa/bodyparser", mount: onKoa(Koa3, koaBodyParser6()) },
  { name: "Koa 3, koa-bodyparser", mount: onKoa(Koa3, koaBodyParser4()) },
  { name: "Koa 2, koa-bodyparser", mount: onKoa(Koa2, koaBodyParser4()) },
  { name: "Koa 2, strapi::body with includeUnparsed", mount: onKoa(Koa2, keepUnparsed) },
  ...nodeReceivers.map((receiver) => ({
    name: `${receiver.name}, Cloud Functions`,
    mount: behindPlatform(keepBytes, receiver),
  })),
  ...nodeReceivers.map((receiver) => ({
    name: `${receiver.name}, a request made of a Lambda event`,
    mount: behindPlatform(makeOfEvent, receiver),
  })),
  ...onLambdas,
  ...nestWithRawBody,
];

/** Receivers behind something that reads the body before them and keeps nothing but the value it parsed. */
export const behindParsed: readonly Receiver[] = [
  { name: "Express 5, express.json()", mount: onExpress(express5, express5.json({ limit: "1mb" })) },
  { name: "Express 4, express.json()", mount: onExpress(express4, express4.json({ limit: "1mb" })) },
  ...nodeReceivers.map((receiver) => ({
    name: `${receiver.name}, Next.js pages`,
    mount: behindPlatform(keepParsed, receiver),
  })),
  ...nestWithoutRawBody,
];

/** Receivers behind something that reads the body before them and keeps nothing. */
export const behindNothing: readonly Receiver[] = [
  ...nodeReceivers.map((receiver) => ({
    name: receiver.name,
    mount: behindPlatform((request) => request, receiver),
  })),
  {
    name: "fetch in Hono",
    mount: (options) =>
      onHono(options, async (c, next) => {
        await c.req.raw.text();
        await next();
      }),
  },
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
