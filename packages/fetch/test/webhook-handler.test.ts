import {
  createRouter,
  defineEvents,
  memoryDedupe,
  toProblem,
  WebhookError,
  type DedupeStore,
} from "@countersign/core";
import { mutations, sampleMessages, signedRequest } from "@countersign/core/testing";
import { dispatch, verifyWebhook, webhookHandler } from "@countersign/fetch";
import { Hono } from "hono";
import { describe, expect, it, vi } from "vitest";
import { nextWarning } from "../../core/test/support/next-warning.ts";
import * as z from "zod";

const SECRET = "secret";
const track = signedRequest(sampleMessages.track, SECRET);
const noContent = (): Response => new Response(null, { status: 204 });

function request(init: RequestInit & { duplex?: "half" } = track): Request {
  return new Request("http://localhost/webhooks", init);
}

function streamed(body: ReadableStream<Uint8Array>, length?: number): Request {
  const declared = length === undefined ? {} : { "content-length": String(length) };
  return request({ ...track, headers: { ...track.headers, ...declared }, body, duplex: "half" });
}

async function problem(response: Response): Promise<unknown> {
  expect(response.headers.get("content-type")).toBe("application/problem+json; charset=utf-8");
  const { status, code } = (await response.json()) as { status: number; code: string };
  return { status, code };
}

describe("verifyWebhook", () => {
  it("gives each of the seven messages, its exact bytes and how it was verified", async () => {
    for (const message of Object.values(sampleMessages)) {
      const signed = signedRequest(message, SECRET);
      expect(await verifyWebhook(request(signed), { secret: SECRET })).toStrictEqual({
        message,
        rawBody: signed.body,
        receivedBody: signed.body,
        signature: signed.headers["x-signature"],
        secretIndex: 0,
        verifiedOver: "bytes",
      });
    }
  });

  it("throws the error to answer with", async () => {
    const error = await verifyWebhook(request(mutations.tampered(track)), { secret: SECRET }).catch(
      (error: unknown) => error,
    );
    expect(error).toBeInstanceOf(WebhookError);
    expect(toProblem(error as WebhookError)).toMatchObject({ status: 401 });
  });

  it("rejects with a TypeError without a secret", async () => {
    await expect(verifyWebhook(request())).rejects.toThrow(TypeError);
    await expect(verifyWebhook(request(), { secret: "" })).rejects.toThrow(TypeError);
  });

  it("rejects with a TypeError for a store that it could never settle", async () => {
    const options: object = { secret: SECRET, dedupe: memoryDedupe() };
    await expect(verifyWebhook(request(), options)).rejects.toThrow(TypeError);
  });

  it("rejects a body that was already read immediately, and says what to do", async () => {
    const read = request();
    await read.text();
    const locked = request();
    const lockedToo = streamed(new Blob([track.body]).stream(), track.body.length);
    for (const { body } of [locked, lockedToo]) body?.getReader();
    for (const gone of [read, locked, lockedToo]) {
      await expect(verifyWebhook(gone, { secret: SECRET })).rejects.toMatchObject({
        code: "ERR_BODY_ALREADY_READ",
        hint: expect.stringContaining("request.clone()") as string,
      });
    }
  });

  it("takes a request made again from bytes that were read, as the hint says", async () => {
    const first = request();
    const bytes = await first.arrayBuffer();
    const again = new Request(first, { method: "POST", body: bytes });
    expect((await verifyWebhook(again, { secret: SECRET })).message.type).toBe("track");
  });

  it("refuses an empty body as invalid JSON", async () => {
    const empty = { ...signedRequest("", SECRET), body: null };
    await expect(verifyWebhook(request(empty), { secret: SECRET })).rejects.toMatchObject({
      code: "ERR_INVALID_JSON",
    });
  });
});

describe("the body of a request", () => {
  it.each([{ length: undefined }, { length: track.body.length }])(
    "is put together from its chunks, its length declared as $length",
    async ({ length }) => {
      const body = new ReadableStream<Uint8Array>({
        start(controller) {
          for (const byte of track.body) controller.enqueue(Uint8Array.of(byte));
          controller.close();
        },
      });
      expect((await verifyWebhook(streamed(body, length), { secret: SECRET })).rawBody).toStrictEqual(
        track.body,
      );
    },
  );

  it("is refused beyond the limit, even if its declared length lies", async () => {
    const large = new Blob([new Uint8Array(20_000)]).stream();
    await expect(
      verifyWebhook(streamed(large, 5), { secret: SECRET, maxBodyBytes: 10_000 }),
    ).rejects.toMatchObject({
      code: "ERR_BODY_TOO_LARGE",
    });
  });

  it("is cancelled beyond the limit, however the source takes that", async () => {
    let pulls = 0;
    const cancel = vi.fn<() => Promise<void>>(() => new Promise(() => {}));
    const endless = new ReadableStream<Uint8Array>({
      pull(controller) {
        pulls += 1;
        controller.enqueue(new Uint8Array(1_000));
      },
      cancel,
    });
    await expect(
      verifyWebhook(streamed(endless), { secret: SECRET, maxBodyBytes: 10_000 }),
    ).rejects.toMatchObject({
      code: "ERR_BODY_TOO_LARGE",
      message: "The body is larger than the 10000 bytes this receiver accepts.",
    });
    expect(cancel).toHaveBeenCalledOnce();
    expect(pulls).toBeLessThan(20);
  });

  it.each([{ length: undefined }, { length: track.body.length }])(
    "that breaks off is a coded refusal, with its cause, its length declared as $length",
    async ({ length }) => {
      const cause = new Error("reset");
      const broken = new ReadableStream<Uint8Array>({
        pull(controller) {
          controller.error(cause);
        },
      });
      await expect(verifyWebhook(streamed(broken, length), { secret: SECRET })).rejects.toMatchObject({
        code: "ERR_BODY_ABORTED",
        cause,
      });
    },
  );
});

describe("webhookHandler", () => {
  it("throws a TypeError when it is created without a secret", () => {
    expect(() => webhookHandler({}, noContent)).toThrow(TypeError);
    expect(() => webhookHandler({ secret: "" }, noContent)).toThrow(TypeError);
  });

  it("runs the handler for an authentic message and gives its response", async () => {
    const response = new Response("kept", { status: 202 });
    const POST = webhookHandler({ secret: SECRET }, () => response);
    expect(await POST(request())).toBe(response);
  });

  it("answers a refusal with a problem document, and does not run the handler", async () => {
    const handler = vi.fn<() => Response>(noContent);
    const POST = webhookHandler({ secret: SECRET }, handler);
    const response = await POST(request(mutations.forged(track)));
    expect(await problem(response)).toEqual({ status: 401, code: "ERR_SIGNATURE_MISMATCH" });
    const get = await POST(request({ method: "GET" }));
    expect(get.headers.get("allow")).toBe("POST");
    expect(await problem(get)).toEqual({ status: 405, code: "ERR_METHOD_NOT_ALLOWED" });
    expect(handler).not.toHaveBeenCalled();
  });

  it("throws a refusal with onError: throw", async () => {
    const POST = webhookHandler({ secret: SECRET, onError: "throw" }, noContent);
    await expect(POST(request(mutations.unsigned(track)))).rejects.toMatchObject({
      code: "ERR_SIGNATURE_MISSING",
    });
  });

  it("passes the platform's second argument to the handler, the secret and the hooks", async () => {
    const seen: unknown[] = [];
    const fetch = webhookHandler<{ SECRET: string }>(
      {
        secret: (_request, env) => env.SECRET,
        onVerified: (_webhook, { method }, env) => void seen.push(method, env),
        onRejected: (_error, { request }, env) => void seen.push(request.method, env),
      },
      (_webhook, { method }, env) => {
        seen.push(method, env);
        return noContent();
      },
    );
    const env = { SECRET: SECRET };
    await fetch(request(), env);
    await fetch(request(mutations.forged(track)), env);
    expect(seen).toEqual(["POST", env, "POST", env, "POST", env]);
  });

  it("runs the hook of each verdict", async () => {
    const onVerified = vi.fn<(webhook: unknown, request: Request) => void>();
    const onRejected =
      vi.fn<
        (error: WebhookError, rejected: { receivedBody?: Uint8Array; diagnoses: readonly unknown[] }) => void
      >();
    const POST = webhookHandler({ secret: SECRET, onVerified, onRejected }, noContent);
    const good = request();
    await POST(good);
    expect(onVerified).toHaveBeenCalledExactlyOnceWith(
      expect.objectContaining({ message: sampleMessages.track }),
      good,
      undefined,
    );
    const prefixed = { ...track.headers, "x-signature": `sha1=${track.headers["x-signature"]}` };
    await POST(request({ ...track, headers: prefixed }));
    expect(onRejected.mock.calls[0]?.[0].code).toBe("ERR_SIGNATURE_MALFORMED");
    expect(onRejected.mock.calls[0]?.[1].diagnoses).toHaveLength(1);
  });

  it("runs a router, and answers 204", async () => {
    const events: string[] = [];
    const router = createRouter().on("track", ({ event }) => void events.push(event));
    const response = await webhookHandler({ secret: SECRET }, dispatch(router))(request());
    expect(response.status).toBe(204);
    expect(events).toEqual(["Order Completed"]);
  });
});

describe("a router with its own events", () => {
  const events = defineEvents({ "Order Completed": z.object({ total: z.string() }) });
  const router = createRouter({ events });

  it("answers 422 to what does not match them, as the other frameworks do", async () => {
    const response = await webhookHandler({ secret: SECRET }, dispatch(router))(request());
    expect(await problem(response)).toEqual({ status: 422, code: "ERR_INVALID_MESSAGE" });
  });

  it("answers a WebhookError that the handler throws, unless onError is throw", async () => {
    const refuse = (): never => {
      throw new WebhookError("ERR_INVALID_MESSAGE");
    };
    expect((await webhookHandler({ secret: SECRET }, refuse)(request())).status).toBe(422);
    const POST = webhookHandler({ secret: SECRET, onError: "throw" }, refuse);
    await expect(POST(request())).rejects.toBeInstanceOf(WebhookError);
  });
});

describe("a repeated delivery", () => {
  it("does not run the handler again", async () => {
    let finish: (() => void) | undefined;
    const finished = new Promise<void>((resolve) => {
      finish = resolve;
    });
    const handler = vi.fn<() => Promise<Response>>(async () => {
      await finished;
      return noContent();
    });
    const POST = webhookHandler({ secret: SECRET, dedupe: memoryDedupe() }, handler);
    const first = POST(request());
    const others = await Promise.all([1, 2, 3, 4].map(() => POST(request())));
    for (const other of others) {
      expect(other.headers.get("retry-after")).toBe("5");
      expect(await problem(other)).toEqual({ status: 503, code: "ERR_DUPLICATE_IN_FLIGHT" });
    }
    finish?.();
    expect((await first).status).toBe(204);
    expect((await POST(request())).status).toBe(200);
    expect(handler).toHaveBeenCalledOnce();
  });

  it("runs a handler again that threw, or answered anything but 2xx", async () => {
    const handler = vi
      .fn<() => Response>(noContent)
      .mockImplementationOnce(() => {
        throw new Error("database down");
      })
      .mockImplementationOnce(() => new Response(null, { status: 503 }));
    const POST = webhookHandler({ secret: SECRET, dedupe: memoryDedupe() }, handler);
    await expect(POST(request())).rejects.toThrow("database down");
    expect((await POST(request())).status).toBe(503);
    expect((await POST(request())).status).toBe(204);
    expect((await POST(request())).status).toBe(200);
    expect(handler).toHaveBeenCalledTimes(3);
  });

  it("is answered as the handler did even if the store fails after it", async () => {
    const warned = nextWarning("COUNTERSIGN_DEDUPE");
    const dedupe: DedupeStore = { ...memoryDedupe(), commit: () => Promise.reject(new Error("store down")) };
    const response = await webhookHandler({ secret: SECRET, dedupe }, noContent)(request());
    expect(response.status).toBe(204);
    expect((await warned).message).toContain("store down");
  });
});

describe("the platforms", () => {
  it("are served by their own error handling when a handler throws: Hono's 500", async () => {
    const app = new Hono();
    const POST = webhookHandler({ secret: SECRET }, () => {
      throw new Error("database down");
    });
    app.post("/webhooks", (c) => POST(c.req.raw));
    app.onError((error, c) => c.text(`caught ${error.message}`, 500));
    const response = await app.request(request());
    expect(response.status).toBe(500);
    expect(await response.text()).toBe("caught database down");
  });

  it("Hono: a body that c.req.json() has already read is verified if it is passed as a string", async () => {
    const app = new Hono();
    const POST = webhookHandler({ secret: SECRET }, ({ verifiedOver }) => new Response(verifiedOver));
    app.use(async (c, next) => {
      await c.req.json();
      await next();
    });
    app.post("/gone", (c) => POST(c.req.raw));
    app.post("/kept", async (c) =>
      POST(new Request(c.req.raw, { method: "POST", body: await c.req.text() })),
    );
    expect(await problem(await app.request("/gone", track))).toEqual({
      status: 500,
      code: "ERR_BODY_ALREADY_READ",
    });
    expect(await (await app.request("/kept", track)).text()).toBe("bytes");
  });

  it("Next.js: a route handler sees its parameters", async () => {
    const POST = webhookHandler(
      { secret: SECRET },
      async (_webhook, _request, { params }: { params: Promise<{ tenant: string }> }) =>
        new Response((await params).tenant),
    );
    const response = await POST(request(), { params: Promise.resolve({ tenant: "acme" }) });
    expect(await response.text()).toBe("acme");
  });

  it("AWS Lambda: a base64 event, made a Request as the README says", async () => {
    interface LambdaEvent {
      rawPath: string;
      headers: Record<string, string>;
      body?: string;
      isBase64Encoded: boolean;
      requestContext: { domainName: string; http: { method: string } };
    }
    const POST = webhookHandler({ secret: SECRET }, ({ message }) => new Response(message.type));
    const handler = async (event: LambdaEvent) => {
      const { domainName, http } = event.requestContext;
      const response = await POST(
        new Request(`https://${domainName}${event.rawPath}`, {
          method: http.method,
          headers: event.headers,
          body: Buffer.from(event.body ?? "", event.isBase64Encoded ? "base64" : "utf8"),
        }),
      );
      return { statusCode: response.status, body: await response.text() };
    };
    const event = {
      rawPath: "/webhooks",
      headers: { ...track.headers },
      requestContext: { domainName: "example.com", http: { method: "POST" } },
    };
    const body = Buffer.from(track.body);
    const base64 = { ...event, body: body.toString("base64"), isBase64Encoded: true };
    const text = { ...event, body: body.toString(), isBase64Encoded: false };
    expect(await handler(base64)).toEqual({ statusCode: 200, body: "track" });
    expect(await handler(text)).toEqual({ statusCode: 200, body: "track" });
    expect(await handler({ ...base64, isBase64Encoded: false })).toMatchObject({ statusCode: 401 });
  });
});
