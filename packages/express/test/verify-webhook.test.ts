import { AsyncLocalStorage } from "node:async_hooks";
import { EventEmitter, once } from "node:events";
import { text } from "node:stream/consumers";
import { createRouter, memoryDedupe, WebhookError, type DedupeStore } from "@countersign/core";
import { mutations, sampleMessages, signedRequest, type SignedRequest } from "@countersign/core/testing";
import { dispatch, verifyWebhook, type VerifyWebhookOptions } from "@countersign/express";
import express5, { type ErrorRequestHandler, type Express, type RequestHandler } from "express";
import express4 from "express4";
import request, { type Test } from "supertest";
import { beforeEach, describe, expect, it, vi } from "vitest";
import { openRequest, serve } from "../../core/test/support/serve.ts";
import { nextWarning } from "../../core/test/support/next-warning.ts";

const SECRET = "secret";
const track = signedRequest(sampleMessages.track, SECRET);
const noContent: RequestHandler = (_req, res) => void res.sendStatus(204);

const versions = [
  { version: 5, express: express5 },
  { version: 4, express: express4 },
];

describe.each(versions)("verifyWebhook on Express $version", ({ express }) => {
  let app: Express;
  beforeEach(() => {
    app = express();
  });

  function post({ headers, body }: SignedRequest, path = "/webhooks"): Test {
    // Bytes go out as they are, where SuperAgent would write them as JSON.
    return request(app)
      .post(path)
      .set(headers)
      .serialize((bytes: unknown) => bytes as string)
      .send(Buffer.from(body));
  }

  it("passes on each of the seven messages as req.body, and its exact bytes", async () => {
    const bodies: unknown[] = [];
    app.post("/webhooks", verifyWebhook({ secret: SECRET }), (req, res) => {
      bodies.push(req.body);
      expect(req.webhook.message).toBe(req.body);
      expect(req.webhook.rawBody.toString()).toBe(JSON.stringify(req.body));
      res.sendStatus(204);
    });
    const messages = Object.values(sampleMessages);
    for (const message of messages) {
      expect((await post(signedRequest(message, SECRET))).status).toBe(204);
    }
    expect(bodies).toEqual(messages);
  });

  it.each([undefined, "route", 0])(
    "does not run the handler where a hook throws %j, which next() takes as leave to go on",
    async (thrown) => {
      const handler = vi.fn<RequestHandler>(noContent);
      const failing = {
        secret: SECRET,
        onVerified: () => {
          // oxlint-disable-next-line typescript/only-throw-error
          throw thrown;
        },
      };
      app.post("/webhooks", verifyWebhook(failing), handler);
      const failed: ErrorRequestHandler = (error, _req, res, next) =>
        res.headersSent ? next(error) : void res.sendStatus(500);
      app.use(failed);
      expect((await post(track)).status).toBe(500);
      expect(handler).not.toHaveBeenCalled();
    },
  );

  it("keeps what the app stored for the request in AsyncLocalStorage, also where the body comes after the headers", async () => {
    const storage = new AsyncLocalStorage<string>();
    const requests = new EventEmitter();
    app.use((_req, _res, next) => {
      requests.emit("request");
      storage.run("of this request", next);
    });
    app.post(
      "/webhooks",
      verifyWebhook({ secret: SECRET }),
      (_req, res) => void res.send(storage.getStore()),
    );
    expect((await post(track)).text).toBe("of this request");
    const { port } = await serve(app);
    const arrived = once(requests, "request");
    const length = String(track.body.length);
    const fields = { ...track.headers, "content-length": length, connection: "close" };
    const socket = await openRequest(port, fields, "/webhooks");
    await arrived;
    socket.write(track.body);
    expect(await text(socket)).toContain("of this request");
  });

  it("answers a refusal itself, and does not touch other routes", async () => {
    const handler = vi.fn<RequestHandler>(noContent);
    app.post("/webhooks", verifyWebhook({ secret: SECRET }), handler);
    app.post("/json", express.json(), (req, res) => void res.json(req.body));
    const refused = await post(mutations.unsigned(track));
    expect(refused.status).toBe(401);
    expect(refused.headers["content-type"]).toBe("application/problem+json; charset=utf-8");
    expect(refused.body).toMatchObject({ code: "ERR_SIGNATURE_MISSING" });
    expect(handler).not.toHaveBeenCalled();
    expect((await post(mutations.unsigned(track), "/json")).body).toEqual(sampleMessages.track);
  });

  it("answers 500 and says why, and neither 401 nor 503, where a request comes to it a second time", async () => {
    const onRejected = vi.fn<NonNullable<VerifyWebhookOptions["onRejected"]>>();
    const handler = vi.fn<RequestHandler>(noContent);
    const verify = verifyWebhook({ secret: SECRET, dedupe: memoryDedupe(), onRejected });
    app.use("/webhooks", verify);
    app.post("/webhooks", verify, handler);
    app.post("/webhooks/others", verifyWebhook({ secret: "another", onRejected }), handler);
    // JSON.stringify writes it otherwise: the value that is left is not what was signed.
    const indented = signedRequest(JSON.stringify(sampleMessages.track, undefined, 2), SECRET);
    for (const path of ["/webhooks", "/webhooks/others"]) {
      expect((await post(indented, path)).status).toBe(500);
      const [error] = onRejected.mock.lastCall ?? [];
      expect(error).toMatchObject({
        code: "ERR_BODY_ALREADY_READ",
        hint: "verifyWebhook() ran before. Mount it once for a route.",
      });
    }
    expect(handler).not.toHaveBeenCalled();
  });

  it("passes on what was signed, and not what was done to the value that express.json() made", async () => {
    app.use(express.json(), (req, _res, next) => {
      // A signature over 0 covers -0 written again: only the text tells them apart.
      req.body.properties.total = -0;
      next();
    });
    app.post("/webhooks", verifyWebhook({ secret: SECRET }), (req, res) => {
      const { verifiedOver, rawBody, receivedBody, message } = req.webhook;
      expect(verifiedOver).toBe("json");
      expect(receivedBody).toBeUndefined();
      expect(req.body).toBe(message);
      expect(rawBody.toString()).toBe(JSON.stringify(free));
      expect(message).toStrictEqual(free);
      res.sendStatus(204);
    });
    const free = { ...sampleMessages.track, properties: { ...sampleMessages.track.properties, total: 0 } };
    expect((await post(signedRequest(free, SECRET))).status).toBe(204);
  });

  it("keeps __proto__ and constructor as own properties", async () => {
    const text =
      '{"type":"track","event":"e","userId":"u","properties":{"__proto__":{"polluted":1},"constructor":{"prototype":2}}}';
    app.post("/webhooks", verifyWebhook({ secret: SECRET }), (req, res) => {
      expect(JSON.stringify(req.body)).toBe(text);
      res.sendStatus(204);
    });
    expect((await post(signedRequest(text, SECRET))).status).toBe(204);
    expect(({} as { polluted?: unknown }).polluted).toBeUndefined();
  });

  it("throws a TypeError when it is created without a secret", () => {
    expect(() => verifyWebhook()).toThrow(TypeError);
    expect(() => verifyWebhook({ secret: "" })).toThrow(TypeError);
  });

  it("passes a refusal to the app's error handling with onError: throw", async () => {
    const handleError = vi.fn<ErrorRequestHandler>((error: WebhookError, _req, res) => {
      res.status(error.status).send(error.code);
    });
    app.post("/webhooks", verifyWebhook({ secret: SECRET, onError: "throw" }), noContent);
    // Express knows an error handler by its four parameters.
    app.use(((error, req, res, next) => handleError(error, req, res, next)) satisfies ErrorRequestHandler);
    const answer = await post(mutations.forged(track));
    expect(answer.status).toBe(401);
    expect(answer.text).toBe("ERR_SIGNATURE_MISMATCH");
    expect(handleError.mock.calls[0]?.[0]).toBeInstanceOf(WebhookError);
  });

  it("gives the secret function and the hooks the Express request", async () => {
    const onVerified = vi.fn<NonNullable<VerifyWebhookOptions["onVerified"]>>();
    const onRejected = vi.fn<NonNullable<VerifyWebhookOptions["onRejected"]>>();
    const options = { secret: tenantSecret, onVerified, onRejected };
    app.post("/webhooks/:tenant", verifyWebhook(options), noContent);
    expect((await post(track, "/webhooks/acme")).status).toBe(204);
    expect((await post(track, "/webhooks/other")).status).toBe(401);
    expect(onVerified.mock.calls[0]?.[1].path).toBe("/webhooks/acme");
    expect(onRejected.mock.calls[0]?.[0].code).toBe("ERR_SIGNATURE_MISMATCH");
    expect(onRejected.mock.calls[0]?.[1].request.path).toBe("/webhooks/other");
  });

  it("answers 500 if a hook throws", async () => {
    const failing = { secret: SECRET, onVerified: () => Promise.reject(new Error("log down")) };
    app.post("/webhooks", verifyWebhook(failing), noContent);
    expect((await post(track)).status).toBe(500);
  });

  it("answers 500, and does not hang, where something else has made req.body read-only", async () => {
    app.use((req, _res, next) => {
      Object.defineProperty(req, "body", { value: undefined, writable: false });
      next();
    });
    app.post("/webhooks", verifyWebhook({ secret: SECRET }), noContent);
    expect((await post(track).timeout(5_000)).status).toBe(500);
  });

  it("runs a router, and answers 204, 422 for what does not match it, or 500 if its handler throws", async () => {
    const router = createRouter()
      .on("track", ({ event }) => expect(event).toBe("Order Completed"))
      .on("screen", () => Promise.reject(new WebhookError("ERR_INVALID_MESSAGE")))
      .on("identify", () => Promise.reject(new Error("database down")));
    app.post("/webhooks", verifyWebhook({ secret: SECRET }), dispatch(router));
    expect((await post(track)).status).toBe(204);
    const unfit = await post(signedRequest(sampleMessages.screen, SECRET));
    expect([unfit.status, unfit.body]).toMatchObject([422, { code: "ERR_INVALID_MESSAGE" }]);
    expect((await post(signedRequest(sampleMessages.identify, SECRET))).status).toBe(500);
  });

  it("answers as the handler did even if the store fails after it", async () => {
    const warned = nextWarning("COUNTERSIGN_DEDUPE");
    const dedupe: DedupeStore = { ...memoryDedupe(), commit: () => Promise.reject(new Error("store down")) };
    app.post("/webhooks", verifyWebhook({ secret: SECRET, dedupe }), noContent);
    expect((await post(track)).status).toBe(204);
    expect((await warned).message).toContain("store down");
  });
});

function tenantSecret({ params }: { params: Record<string, string | string[]> }): string | undefined {
  return params["tenant"] === "acme" ? SECRET : undefined;
}
