import { createServer, type RequestListener } from "node:http";
import { sampleMessages, signedRequest } from "@countersign/core/testing";
import * as forExpress from "@countersign/express";
import * as forKoa from "@countersign/koa";
import { bodyParser as koaBodyParser6 } from "@koa/bodyparser";
import express5, { type RequestHandler } from "express";
import express4 from "express4";
import Koa3, { type Middleware } from "koa";
import koaBodyParser4 from "koa-bodyparser";
import Koa2 from "koa2";
import request, { type Test } from "supertest";
import { describe, expect, it } from "vitest";

const SECRET = "secret";
const { headers, text } = signedRequest(sampleMessages.track, SECRET);

function post(listener: RequestListener): Test {
  return request(createServer(listener)).post("/webhooks").set(headers).send(text);
}

const onExpress = [
  { version: 5, express: express5 },
  { version: 4, express: express4 },
].flatMap(({ version, express }) => [
  { version, express, parser: "express.json()", parse: express.json() },
  { version, express, parser: "express.raw()", parse: express.raw({ type: "*/*" }) },
  { version, express, parser: "express.text()", parse: express.text({ type: "*/*" }) },
]);

// The body has been read: a parser that reads it again fails, and an authentic message is answered 500, or 499, which is final.
describe.each(onExpress)("$parser mounted after verifyWebhook on Express $version", ({ express, parse }) => {
  it("leaves the message as it is, and does not fail", async () => {
    const app = express();
    app.use("/webhooks", forExpress.verifyWebhook({ secret: SECRET }));
    app.use(parse as RequestHandler);
    app.post(
      "/webhooks",
      (req, res) => void res.json(req.body === req.webhook.message ? req.body : "another"),
    );
    const { status, body } = await post(app);
    expect({ status, body }).toEqual({ status: 200, body: sampleMessages.track });
  });
});

const onKoa = [
  { version: 3, Koa: Koa3 },
  { version: 2, Koa: Koa2 },
].flatMap(({ version, Koa }) => [
  { version, Koa, parser: "koa-bodyparser", parse: koaBodyParser4() },
  { version, Koa, parser: "@koa/bodyparser", parse: koaBodyParser6() },
]);

describe.each(onKoa)("$parser mounted after verifyWebhook on Koa $version", ({ Koa, parse }) => {
  it("leaves the message as it is, and does not fail", async () => {
    const app = new Koa();
    app.silent = true;
    app.use(forKoa.verifyWebhook({ secret: SECRET })).use(parse as Middleware);
    app.use((ctx) => {
      ctx.body = ctx.request.body === ctx.state.webhook.message ? ctx.request.body : "another";
    });
    const callback = app.callback();
    const { status, body } = await post((req, res) => void callback(req, res));
    expect({ status, body }).toEqual({ status: 200, body: sampleMessages.track });
  });
});
