import { createServer } from "node:http";
import { createRouter, memoryDedupe, type VerifiedWebhook, WebhookError } from "@countersign/core";
import { mutations, sampleMessages, signedRequest, type SignedRequest } from "@countersign/core/testing";
import { dispatch, verifyWebhook, type VerifyWebhookOptions } from "@countersign/koa";
import { Router } from "@koa/router";
import Koa3 from "koa";
import koaBodyParser from "koa-bodyparser";
import Koa2 from "koa2";
import request, { type Test } from "supertest";
import { beforeEach, describe, expect, it, vi } from "vitest";

const SECRET = "secret";
const track = signedRequest(sampleMessages.track, SECRET);

const versions = [
  { version: 3, Koa: Koa3 },
  { version: 2, Koa: Koa2 },
];

describe.each(versions)("verifyWebhook on Koa $version", ({ Koa }) => {
  let app: Koa3;
  let received: VerifiedWebhook[];
  beforeEach(() => {
    app = new Koa();
    app.silent = true;
    received = [];
  });

  /** A route that is verified, and one that is not. */
  function addRoutes(options: VerifyWebhookOptions = { secret: SECRET }): void {
    const router = new Router();
    router.post("/webhooks", verifyWebhook(options), (ctx) => {
      received.push(ctx.state.webhook);
      ctx.status = 204;
    });
    router.all("/health", (ctx) => {
      ctx.body = "ok";
    });
    app.use(router.routes());
  }

  function post({ headers, body }: SignedRequest, path = "/webhooks"): Test {
    const callback = app.callback();
    const server = createServer((request, response) => void callback(request, response));
    // Bytes go out as they are, where SuperAgent would write them as JSON.
    return request(server)
      .post(path)
      .set(headers)
      .serialize((bytes: unknown) => bytes as string)
      .send(Buffer.from(body));
  }

  it("passes on each of the seven messages, and its exact bytes", async () => {
    addRoutes();
    const messages = Object.values(sampleMessages);
    for (const message of messages) {
      expect((await post(signedRequest(message, SECRET))).status).toBe(204);
    }
    expect(received.map(({ message }) => message)).toEqual(messages);
    expect(Buffer.from(received[0]?.rawBody ?? []).toString()).toBe(JSON.stringify(messages[0]));
  });

  it("answers a refusal itself, and does not touch other routes", async () => {
    addRoutes();
    const refused = await post(mutations.unsigned(track));
    expect(refused.status).toBe(401);
    expect(refused.headers["content-type"]).toBe("application/problem+json; charset=utf-8");
    expect(refused.body).toMatchObject({ code: "ERR_SIGNATURE_MISSING" });
    expect(received).toEqual([]);
    expect((await post(mutations.unsigned(track), "/health")).text).toBe("ok");
  });

  it("answers 500 and says why, and neither 401 nor 503, where a request comes to it a second time", async () => {
    const onRejected = vi.fn<NonNullable<VerifyWebhookOptions["onRejected"]>>();
    const options = { secret: SECRET, dedupe: memoryDedupe(), onRejected };
    app.use(verifyWebhook(options));
    addRoutes(options);
    // JSON.stringify writes it otherwise: the value that is left is not what was signed.
    const indented = signedRequest(JSON.stringify(sampleMessages.track, undefined, 2), SECRET);
    expect((await post(indented)).status).toBe(500);
    expect(onRejected.mock.calls[0]?.[0].hint).toContain("Mount it once");
    expect(received).toEqual([]);
  });

  it("verifies the text that koa-bodyparser keeps, if it is mounted before", async () => {
    app.use(koaBodyParser());
    addRoutes();
    expect((await post(track)).status).toBe(204);
    expect(received[0]?.verifiedOver).toBe("bytes");
    expect((await post(mutations.tampered(track))).status).toBe(401);
  });

  it.each([
    ["a secret function", { secret: () => Promise.reject(undefined) }],
    ["a dedupe store", { secret: SECRET, dedupe: { ...memoryDedupe(), claim: () => Promise.reject(null) } }],
  ] as [string, VerifyWebhookOptions][])(
    "answers 500 when %s rejects with nothing, instead of never",
    async (_what, options) => {
      addRoutes(options);
      expect((await post(track).timeout(5_000)).status).toBe(500);
      expect(received).toEqual([]);
    },
  );

  it("throws a TypeError when it is created without a secret", () => {
    expect(() => verifyWebhook()).toThrow(TypeError);
    expect(() => verifyWebhook({ secret: "" })).toThrow(TypeError);
  });

  it("passes a refusal to Koa's error handling with onError: throw", async () => {
    const seen = vi.fn<(error: { code: string }) => void>();
    app.on("error", seen);
    addRoutes({ secret: SECRET, onError: "throw" });
    const answer = await post(mutations.forged(track));
    expect(answer.status).toBe(401);
    expect(answer.text).toBe("The X-Signature header does not match the body.");
    // Koa tells its listeners of 401, too, though it does not print it.
    expect(seen.mock.calls.map(([{ code }]) => code)).toEqual(["ERR_SIGNATURE_MISMATCH"]);
  });

  it("gives the secret function and the hooks the Koa context", async () => {
    const onVerified = vi.fn<NonNullable<VerifyWebhookOptions["onVerified"]>>();
    const onRejected = vi.fn<NonNullable<VerifyWebhookOptions["onRejected"]>>();
    addRoutes({ secret: (ctx) => (ctx.path === "/webhooks" ? SECRET : undefined), onVerified, onRejected });
    await post(track);
    await post(mutations.tampered(track));
    expect(onVerified.mock.calls[0]?.[1].path).toBe("/webhooks");
    expect(onRejected.mock.calls[0]?.[0].code).toBe("ERR_SIGNATURE_MISMATCH");
    expect(onRejected.mock.calls[0]?.[1].request.path).toBe("/webhooks");
  });

  it("runs a router, and answers 204, 422 for what does not match it, or 500 if its handler throws", async () => {
    const handlers = createRouter()
      .on("track", ({ event }) => expect(event).toBe("Order Completed"))
      .on("screen", () => Promise.reject(new WebhookError("ERR_INVALID_MESSAGE")))
      .on("identify", () => Promise.reject(new Error("database down")));
    app.use(verifyWebhook({ secret: SECRET })).use(dispatch(handlers));
    const handled = await post(track);
    expect(handled.status).toBe(204);
    expect(handled.headers).not.toHaveProperty("content-type");
    const unfit = await post(signedRequest(sampleMessages.screen, SECRET));
    expect([unfit.status, unfit.body]).toMatchObject([422, { code: "ERR_INVALID_MESSAGE" }]);
    expect((await post(signedRequest(sampleMessages.identify, SECRET))).status).toBe(500);
  });

  it("settles a delivery by the status that was sent, wherever it was set", async () => {
    let refuse = true;
    app.use(async (ctx, next) => {
      await next();
      if (refuse) ctx.status = 503;
    });
    addRoutes({ secret: SECRET, dedupe: memoryDedupe() });
    expect((await post(track)).status).toBe(503);
    refuse = false;
    expect((await post(track)).status).toBe(204);
    expect((await post(track)).status).toBe(200);
    expect(received).toHaveLength(2);
  });

  it("settles a delivery whose handler answers by itself", async () => {
    app.use(verifyWebhook({ secret: SECRET, dedupe: memoryDedupe() }));
    app.use((ctx) => {
      ctx.respond = false;
      setImmediate(() => ctx.res.writeHead(202).end());
    });
    expect((await post(track)).status).toBe(202);
    expect((await post(track)).status).toBe(200);
  });
});
