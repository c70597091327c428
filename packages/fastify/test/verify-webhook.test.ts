import { EventEmitter, once } from "node:events";
import { connect, type AddressInfo } from "node:net";
import { Readable } from "node:stream";
import { buffer } from "node:stream/consumers";
import { createRouter, memoryDedupe, WebhookError, type VerifiedWebhook } from "@countersign/core";
import { mutations, sampleMessages, signedRequest, type SignedRequest } from "@countersign/core/testing";
import { dispatch, verifyWebhook, type VerifyWebhookOptions } from "@countersign/fastify";
import fastify5, { type FastifyInstance, type FastifyReply, type RouteHandlerMethod } from "fastify";
import fastify4 from "fastify4";
import request, { type Response } from "supertest";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";

const SECRET = "secret";
const track = signedRequest(sampleMessages.track, SECRET);

const flip = (byte: number): number => byte ^ 1;

const versions = [
  { version: 5, fastify: fastify5 },
  // Under the types of version 5: what is used of both is the same.
  { version: 4, fastify: fastify4 as unknown as typeof fastify5 },
];

describe.each(versions)("verifyWebhook on Fastify $version", ({ fastify }) => {
  let app: FastifyInstance;
  let received: VerifiedWebhook[];
  beforeEach(() => {
    app = fastify();
    received = [];
  });
  afterEach(() => app.close());

  /** A verified scope with one route, and whatever `more` puts into the scope after it. */
  async function addScope(
    options: VerifyWebhookOptions = { secret: SECRET },
    more: (scope: FastifyInstance) => void = () => {},
  ): Promise<void> {
    await app.register(async (scope) => {
      await scope.register(verifyWebhook, options);
      scope.post("/webhooks", async (request, reply) => {
        received.push(request.webhook);
        return reply.code(204).send();
      });
      more(scope);
    });
  }

  async function post({ headers, body }: SignedRequest, path = "/webhooks"): Promise<Response> {
    await app.ready();
    // Bytes go out as they are, where SuperAgent would write them as JSON.
    return request(app.server)
      .post(path)
      .set(headers)
      .serialize((bytes: unknown) => bytes as string)
      .send(Buffer.from(body));
  }

  it("passes on each of the seven messages, and its exact bytes", async () => {
    await addScope();
    const messages = Object.values(sampleMessages);
    for (const message of messages) {
      expect((await post(signedRequest(message, SECRET))).statusCode).toBe(204);
    }
    expect(received.map(({ message }) => message)).toEqual(messages);
    expect(Buffer.from(received[0]?.rawBody ?? []).toString()).toBe(JSON.stringify(messages[0]));
  });

  it("leaves routes outside the scope their parser, methods and errors", async () => {
    await addScope();
    app.post("/json", async (request) => request.body);
    app.get("/health", async () => "ok");
    const json = await app.inject({ method: "POST", url: "/json", payload: { a: 1 } });
    expect(json.json()).toEqual({ a: 1 });
    const broken = await app.inject({
      method: "POST",
      url: "/json",
      headers: { "content-type": "application/json" },
      payload: '{"__proto__":{}}',
    });
    expect(broken.statusCode).toBe(400);
    expect((await app.inject("/health")).body).toBe("ok");
    expect((await app.inject("/nowhere")).statusCode).toBe(404);
  });

  it("guards every route of its scope and of scopes inside it, but not unknown URLs", async () => {
    await addScope({ secret: SECRET }, (scope) => {
      scope.get("/status", async () => "never");
      scope.register(async (inner) => {
        inner.post("/inner", async (request) => request.webhook.message.type);
      });
    });
    expect((await app.inject("/status")).json()).toMatchObject({ code: "ERR_METHOD_NOT_ALLOWED" });
    expect((await post(track, "/inner")).text).toBe("track");
    expect((await post(mutations.forged(track), "/inner")).statusCode).toBe(401);
  });

  it("can be registered for the whole app, whose unknown URLs stay 404", async () => {
    await app.register(verifyWebhook, { secret: SECRET });
    app.post("/webhooks", async (request) => request.webhook.message.type);
    expect((await post(track)).text).toBe("track");
    expect((await post(track, "/nowhere")).statusCode).toBe(404);
    expect((await app.inject("/nowhere")).statusCode).toBe(404);
  });

  it("gives request.body the message, to be checked by a schema of the route", async () => {
    await addScope({ secret: SECRET }, (scope) => {
      const schema = { body: { type: "object", properties: { type: { const: "identify" } } } };
      scope.post("/identify", { schema }, async (request) => request.body);
    });
    const identify = await post(signedRequest(sampleMessages.identify, SECRET), "/identify");
    expect(identify.body).toEqual(sampleMessages.identify);
    expect((await post(track, "/identify")).body).toMatchObject({ code: "FST_ERR_VALIDATION" });
  });

  it("keeps the verified message as it was signed where the route's schema changes request.body", async () => {
    const bodies: unknown[] = [];
    const traits = {
      type: "object",
      properties: { logins: { type: "string" } },
      additionalProperties: false,
    };
    const body = { type: "object", properties: { traits }, additionalProperties: false };
    await addScope(undefined, (scope) => {
      scope.post("/checked", { schema: { body } }, async (request, reply) => {
        bodies.push(request.body);
        received.push(request.webhook);
        return reply.code(204).send();
      });
    });
    expect((await post(signedRequest(sampleMessages.identify, SECRET), "/checked")).statusCode).toBe(204);
    // Fastify removes what a schema does not allow, and coerces types.
    expect(bodies).toEqual([{ traits: { logins: "5" } }]);
    expect(received[0]?.message).toEqual(sampleMessages.identify);
  });

  it("keeps keys that Fastify's own parser refuses, as own properties", async () => {
    await addScope();
    const json =
      '{"type":"track","event":"e","userId":"u","properties":{"__proto__":{"polluted":1},"constructor":{"prototype":2}}}';
    expect((await post(signedRequest(json, SECRET))).statusCode).toBe(204);
    const [webhook] = received;
    const properties = webhook?.message.type === "track" ? webhook.message.properties : undefined;
    expect(Object.keys(properties ?? {})).toEqual(["__proto__", "constructor"]);
    expect(JSON.stringify(webhook?.message)).toBe(json);
    expect(({} as { polluted?: unknown }).polluted).toBeUndefined();
  });

  it("uses its own limit instead of Fastify's", async () => {
    app = fastify({ bodyLimit: 100 });
    await addScope({ secret: SECRET, maxBodyBytes: 1_000 });
    expect(track.body.length).toBeGreaterThan(100);
    expect((await post(track)).statusCode).toBe(204);
    const large = { ...sampleMessages.track, properties: { text: "x".repeat(1_000) } };
    expect((await post(signedRequest(large, SECRET))).body).toMatchObject({ code: "ERR_BODY_TOO_LARGE" });
  });

  it("reads what an earlier preParsing hook gives, and gives later ones the body to read again", async () => {
    app.addHook("preParsing", async (_request, _reply, payload) => {
      const decoded = (await buffer(payload)).map(flip);
      return Readable.from([decoded], { objectMode: false });
    });
    const later: string[] = [];
    await addScope({ secret: SECRET }, (scope) => {
      scope.addHook("preParsing", async (_request, _reply, payload) => {
        for await (const chunk of payload) later.push(String(chunk));
        return Readable.from(later);
      });
      scope.addContentTypeParser("application/json", { parseAs: "string" }, (_request, json, done) =>
        done(null, `parsed ${json.length}`),
      );
      scope.post("/own", async (request) => request.body);
    });
    const encoded = { ...track, body: track.body.map(flip) };
    expect((await post(encoded, "/own")).text).toBe(`parsed ${track.body.length}`);
    expect(later.join("")).toBe(Buffer.from(track.body).toString());
  });

  it("gives later hooks and parsers what was signed, and not what came", async () => {
    const properties = (json: string): string =>
      JSON.stringify({ ...sampleMessages.track, properties: 0 }).replace(':0,"', `:${json},"`);
    const signed = signedRequest(properties('{"role":"user"}'), SECRET);
    const sent = { ...signed, body: Buffer.from(properties('{"role":"admin","role":"user"}')) };
    await addScope({ secret: SECRET }, (scope) => {
      scope.addContentTypeParser("application/json", { parseAs: "string" }, (_request, json, done) =>
        done(null, json),
      );
      scope.post("/own", async (request) => [request.body, Buffer.from(request.webhook.rawBody).toString()]);
    });
    const text = Buffer.from(signed.body).toString();
    expect((await post(sent as unknown as SignedRequest, "/own")).body).toEqual([text, text]);
  });

  it("warns at registration if requests that never end are never cut off", async () => {
    const warnings = async (options: object): Promise<string[]> => {
      const lines: string[] = [];
      const stream = { write: (line: string) => void lines.push(line) };
      const logging = fastify({ ...options, logger: { level: "warn", stream } });
      await logging.register(verifyWebhook, { secret: SECRET }).ready();
      await logging.close();
      return lines;
    };
    expect(await warnings({})).toEqual([expect.stringContaining("requestTimeout is 0")]);
    expect(await warnings({ requestTimeout: 30_000 })).toEqual([]);
  });

  it("verifies a body that is injected as a stream, without a length", async () => {
    await addScope();
    const payload = Readable.from([Buffer.from(track.body)]);
    const answer = await app.inject({ method: "POST", url: "/webhooks", headers: track.headers, payload });
    expect(answer.statusCode).toBe(204);
  });

  it("rejects with a TypeError, when it is registered, without a secret or a second time", async () => {
    await expect(app.register(verifyWebhook, {}).ready()).rejects.toThrow(TypeError);
    app = fastify();
    app.register(verifyWebhook, { secret: SECRET });
    app.register(verifyWebhook, { secret: SECRET });
    await expect(app.ready()).rejects.toMatchObject({ code: "FST_ERR_DEC_ALREADY_PRESENT" });
  });

  it("rejects an unknown option, and accepts those of register()", async () => {
    const options: object = { secret: SECRET, prefix: "/hooks", logLevel: "warn", logSerializers: {} };
    await app.register(verifyWebhook, options).ready();
    const misspelt: object = { secret: SECRET, stict: true };
    await expect(fastify().register(verifyWebhook, misspelt).ready()).rejects.toThrow(
      'unknown option "stict"; did you mean "strict"?',
    );
  });

  it("says that it must be registered if it is called instead", async () => {
    const called = (verifyWebhook as unknown as (options: object) => Promise<void>)({ secret: SECRET });
    await expect(called).rejects.toThrow("await scope.register(verifyWebhook, { secret })");
  });

  it("passes a refusal to Fastify's error handling with onError: throw", async () => {
    const seen: unknown[] = [];
    app.setErrorHandler((error, _request, reply) => {
      seen.push(error);
      return reply.send(error);
    });
    await addScope({ secret: SECRET, onError: "throw" });
    const answer = await post(mutations.forged(track));
    expect(answer.statusCode).toBe(401);
    expect(answer.body).toMatchObject({ code: "ERR_SIGNATURE_MISMATCH" });
    expect(seen[0]).toBeInstanceOf(WebhookError);
  });

  it("gives the secret function and the hooks the Fastify request", async () => {
    const onVerified = vi.fn<NonNullable<VerifyWebhookOptions["onVerified"]>>();
    const onRejected = vi.fn<NonNullable<VerifyWebhookOptions["onRejected"]>>();
    await addScope({
      secret: (request) => (request.url === "/webhooks" ? SECRET : undefined),
      onVerified,
      onRejected,
    });
    await post(track);
    await post(mutations.tampered(track));
    expect(onVerified.mock.calls[0]?.[1].routeOptions.url).toBe("/webhooks");
    expect(onRejected.mock.calls[0]?.[0].code).toBe("ERR_SIGNATURE_MISMATCH");
    expect(onRejected.mock.calls[0]?.[1].request.url).toBe("/webhooks");
  });

  it("runs a router, and answers 204, 422 for what does not match it, or 500 if its handler throws", async () => {
    const router = createRouter()
      .on("track", ({ event }) => expect(event).toBe("Order Completed"))
      .on("screen", () => Promise.reject(new WebhookError("ERR_INVALID_MESSAGE")))
      .on("identify", () => Promise.reject(new Error("database down")));
    await addScope({ secret: SECRET }, (scope) => void scope.post("/routed", dispatch(router)));
    const handled = await post(track, "/routed");
    expect(handled.statusCode).toBe(204);
    expect(handled.headers).not.toHaveProperty("content-type");
    const unfit = await post(signedRequest(sampleMessages.screen, SECRET), "/routed");
    expect([unfit.statusCode, unfit.body]).toMatchObject([422, { code: "ERR_INVALID_MESSAGE" }]);
    expect((await post(signedRequest(sampleMessages.identify, SECRET), "/routed")).statusCode).toBe(500);
  });

  it("settles a delivery whose reply was hijacked by the status that it was given", async () => {
    await addScope({ secret: SECRET, dedupe: memoryDedupe() }, (scope) => {
      scope.post("/hijacked", (_request, reply) => {
        reply.hijack();
        reply.raw.writeHead(202).end();
      });
    });
    expect((await post(track, "/hijacked")).statusCode).toBe(202);
    expect((await post(track, "/hijacked")).statusCode).toBe(200);
  });

  describe("settles a delivery whose sender has disconnected by what its handler answers", () => {
    /** The status of a repeat: 200 if the handler's answer was stored, 202 if the handler ran again. */
    async function statusAfterHangUp(answer: (reply: FastifyReply) => unknown): Promise<number> {
      const events = new EventEmitter();
      const handler = vi.fn<RouteHandlerMethod>(async (_request, reply) => reply.code(202).send());
      handler.mockImplementationOnce(async ({ raw }, reply) => {
        const gone = once(raw.socket, "close");
        events.emit("running");
        await gone;
        const answered = answer(reply);
        setImmediate(() => events.emit("answered"));
        return answered;
      });
      await addScope(
        { secret: SECRET, dedupe: memoryDedupe() },
        (scope) => void scope.post("/slow", handler),
      );
      await app.listen({ port: 0, host: "127.0.0.1" });
      const [running, answered] = [once(events, "running"), once(events, "answered")];
      const socket = connect((app.server.address() as AddressInfo).port, "127.0.0.1");
      const headers = Object.entries({ host: "a", ...track.headers, "content-length": track.body.length });
      const head = ["POST /slow HTTP/1.1", ...headers.map((header) => header.join(": ")), "", ""];
      socket.write(Buffer.concat([Buffer.from(head.join("\r\n")), track.body]));
      await running;
      socket.destroy();
      await answered;
      return (await post(track, "/slow")).statusCode;
    }

    it.each<[answer: string, status: number, answer: (reply: FastifyReply) => unknown]>([
      ["nothing", 200, () => undefined],
      ["nothing, with the status of a failure", 202, (reply) => void reply.code(503)],
      ["a body", 200, () => ({ handled: true })],
      ["the reply that it has sent", 200, (reply) => reply.code(204).send()],
      [
        "the reply that it sends later",
        202,
        (reply) => {
          setImmediate(() => void reply.code(503).send());
          return reply;
        },
      ],
    ])("%s: a repeat is answered %i", async (_answer, status, answer) => {
      expect(await statusAfterHangUp(answer)).toBe(status);
    });
  });
});
