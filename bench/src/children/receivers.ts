// A receiver of one framework: receivers.js FRAMEWORK CONTENDER SECRET. Sends its port; answers any message with the
// CPU time it has used, in microseconds.
import { createHmac } from "node:crypto";
import { once } from "node:events";
import { createServer, type IncomingMessage, type RequestListener, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { createReceiver } from "@countersign/core";
import { toWebhookRequest } from "@countersign/core/node";
import { verifyWebhook as verifyInExpress } from "@countersign/express";
import { verifyWebhook as verifyInFastify } from "@countersign/fastify";
import { webhookHandler } from "@countersign/fetch";
import { verifyWebhook as verifyInKoa } from "@countersign/koa";
import { createAdaptorServer } from "@hono/node-server";
import express from "express";
import fastify from "fastify";
import { Hono } from "hono";
import Koa from "koa";

const [framework = "", contender = "", secret = ""] = process.argv.slice(2);

/** The shortest check of exact bytes: hash, compare, parse. Returns the status to answer with. */
function checkByHand(body: Buffer, signature: unknown): number {
  if (createHmac("sha1", secret).update(body).digest("hex") !== signature) return 401;
  JSON.parse(body.toString());
  return 204;
}

/** What the service documents: the digest of the parsed body, written again. */
function checkAsDocumented(body: unknown, signature: unknown): number {
  return createHmac("sha1", secret).update(JSON.stringify(body)).digest("hex") === signature ? 204 : 401;
}

function readByHand(request: IncomingMessage): Promise<Buffer> {
  return new Promise((resolve, reject) => {
    const chunks: Buffer[] = [];
    request.on("data", (chunk: Buffer) => chunks.push(chunk));
    request.on("end", () => resolve(Buffer.concat(chunks))).on("error", reject);
  });
}

function listenerOf(app: Koa): RequestListener {
  const callback = app.callback();
  return (request, response) => void callback(request, response);
}

type Start = () => Server | Promise<Server>;

const frameworks: Readonly<Record<string, Readonly<Record<string, Start>>>> = {
  express: {
    countersign() {
      const app = express();
      app.post("/", verifyInExpress({ secret }), (_req, res) => void res.status(204).end());
      return createServer(app);
    },
    sample() {
      const app = express();
      app.post("/", express.json(), (req, res) => {
        res.status(checkAsDocumented(req.body, req.get("x-signature"))).end();
      });
      return createServer(app);
    },
    json() {
      const app = express();
      app.post("/", express.json(), (_req, res) => void res.status(204).end());
      return createServer(app);
    },
    byHand() {
      const app = express();
      app.post("/", (req, res) => {
        const chunks: Buffer[] = [];
        req.on("data", (chunk: Buffer) => chunks.push(chunk));
        req.on("end", () => {
          res.status(checkByHand(Buffer.concat(chunks), req.headers["x-signature"])).end();
        });
      });
      return createServer(app);
    },
  },
  fastify: {
    async countersign() {
      const app = fastify();
      await app.register(verifyInFastify, { secret });
      app.post("/", async (_request, reply) => reply.code(204).send());
      await app.ready();
      return app.server;
    },
    async byHand() {
      const app = fastify();
      app.addContentTypeParser("application/json", { parseAs: "buffer" }, (_request, body, done) =>
        done(null, body),
      );
      app.post("/", async (request, reply) =>
        reply.code(checkByHand(request.body as Buffer, request.headers["x-signature"])).send(),
      );
      await app.ready();
      return app.server;
    },
  },
  koa: {
    countersign() {
      const app = new Koa();
      app.use(verifyInKoa({ secret }));
      app.use((ctx) => void (ctx.status = 204));
      return createServer(listenerOf(app));
    },
    byHand() {
      const app = new Koa();
      app.use(async (ctx) => {
        ctx.status = checkByHand(await readByHand(ctx.req), ctx.headers["x-signature"]);
      });
      return createServer(listenerOf(app));
    },
  },
  node: {
    countersign() {
      const receiver = createReceiver({ secret });
      return createServer((request, response) => {
        void receiver.receive(toWebhookRequest(request)).then(({ verdict }) => {
          response.writeHead(verdict === "verified" ? 204 : 401).end();
        });
      });
    },
    byHand: () =>
      createServer((request, response) => {
        void readByHand(request).then((body) =>
          response.writeHead(checkByHand(body, request.headers["x-signature"])).end(),
        );
      }),
  },
  hono: {
    countersign() {
      const app = new Hono();
      const handler = webhookHandler({ secret }, () => new Response(null, { status: 204 }));
      app.post("/", (c) => handler(c.req.raw));
      return createAdaptorServer(app) as Server;
    },
    byHand() {
      const app = new Hono();
      app.post("/", async (c) => {
        const body = Buffer.from(await c.req.arrayBuffer());
        return new Response(null, { status: checkByHand(body, c.req.header("x-signature")) });
      });
      return createAdaptorServer(app) as Server;
    },
  },
};

const start = frameworks[framework]?.[contender];
if (start === undefined) throw new Error(`No receiver is called ${framework} ${contender}.`);
const server = await start();
// Fastify must not be started by itself: it would listen on two addresses.
// Connections wait while other contenders have their turn.
server.keepAliveTimeout = 0;
server.listen(0, "127.0.0.1");
await once(server, "listening");
process.on("message", () => {
  const { user, system } = process.cpuUsage();
  process.send?.(user + system);
});
process.send?.((server.address() as AddressInfo).port);
