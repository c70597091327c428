// For each framework, a server with three routes: /verified by its adapter, /documented as the service documents a
// receiver (the framework's JSON parser, JSON.stringify, HMAC), /bare with the framework's JSON parser alone.
import { createHmac } from "node:crypto";
import { verifyWebhook as forExpress } from "@countersign/express";
import { verifyWebhook as forFastify } from "@countersign/fastify";
import { webhookHandler } from "@countersign/fetch";
import { verifyWebhook as forKoa } from "@countersign/koa";
import { serve } from "@hono/node-server";
import { bodyParser } from "@koa/bodyparser";
import express from "express";
import fastify from "fastify";
import { Hono } from "hono";
import Koa from "koa";

const secret = process.argv[2];

function documented(body, signature) {
  return createHmac("sha1", secret).update(JSON.stringify(body)).digest("hex") === signature ? 204 : 401;
}

const starters = {
  Express(port) {
    const app = express();
    const parser = express.json();
    app.post("/verified", forExpress({ secret }), (_req, res) => res.status(204).end());
    app.post("/documented", parser, (req, res) =>
      res.status(documented(req.body, req.get("x-signature"))).end(),
    );
    app.post("/bare", parser, (_req, res) => res.status(204).end());
    app.listen(port, "127.0.0.1");
  },
  async Fastify(port) {
    const app = fastify();
    await app.register(async (scope) => {
      await scope.register(forFastify, { secret });
      scope.post("/verified", async (_request, reply) => reply.code(204).send());
    });
    app.post("/documented", async (request, reply) =>
      reply.code(documented(request.body, request.headers["x-signature"])).send(),
    );
    app.post("/bare", async (_request, reply) => reply.code(204).send());
    await app.listen({ port, host: "127.0.0.1" });
  },
  Koa(port) {
    const app = new Koa();
    const verify = forKoa({ secret });
    const parse = bodyParser();
    app.use((ctx, next) => (ctx.path === "/verified" ? verify(ctx, next) : parse(ctx, next)));
    app.use((ctx) => {
      const { path, request } = ctx;
      ctx.status = path === "/documented" ? documented(request.body, ctx.get("x-signature")) : 204;
    });
    app.listen(port, "127.0.0.1");
  },
  Hono(port) {
    const app = new Hono();
    const verified = webhookHandler({ secret }, () => new Response(null, { status: 204 }));
    app.post("/verified", (c) => verified(c.req.raw));
    app.post("/documented", async (c) =>
      c.body(null, documented(await c.req.json(), c.req.header("x-signature"))),
    );
    app.post("/bare", async (c) => c.body(null, (await c.req.json()) && 204));
    serve({ fetch: app.fetch, port, hostname: "127.0.0.1" });
  },
};

for (const [name, start] of Object.entries(starters))
  await start(Number(process.argv[3 + Object.keys(starters).indexOf(name)]));
process.send(Object.keys(starters));
