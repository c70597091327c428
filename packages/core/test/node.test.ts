import { Buffer } from "node:buffer";
import { EventEmitter, once } from "node:events";
import type { IncomingMessage } from "node:http";
import {
  connect,
  constants,
  createServer as createHttp2Server,
  type ClientHttp2Session,
  type Http2ServerRequest,
  type Http2ServerResponse,
} from "node:http2";
import type { AddressInfo } from "node:net";
import { PassThrough, Readable } from "node:stream";
import { createReceiver, memoryDedupe, toProblem, WebhookError } from "@countersign/core";
import {
  readRawBody,
  sendResponse,
  settleWhenSent,
  toWebhookRequest,
  type NodeRequest,
} from "@countersign/core/node";
import { sampleMessages, signedRequest } from "@countersign/core/testing";
import fc from "fast-check";
import { describe, expect, it, onTestFinished, vi } from "vitest";
import { createBodyBuffer } from "../src/request/body-buffer.ts";
import { openRequest, outcomeOf, serve } from "./support/serve.ts";

const MAX_BYTES = 1_000;
const EVENTS = ["data", "end", "error", "close", "aborted", "readable"];
const listeners = (stream: NodeJS.ReadableStream): number[] =>
  EVENTS.map((event) => stream.listenerCount(event));

/** Reads a request, and tells what came of it and which listeners it left. */
function reading(prepare: (request: IncomingMessage) => void = () => {}): ReturnType<
  typeof outcomeOf<{
    bytes?: Uint8Array;
    error?: unknown;
    before: number[];
    after: number[];
    flowing: boolean | null;
  }>
> {
  return outcomeOf(async (request) => {
    prepare(request);
    const before = listeners(request);
    const result = await readRawBody(request, { maxBytes: MAX_BYTES }).then(
      (bytes) => ({ bytes }),
      (error: unknown) => ({ error }),
    );
    return { ...result, before, after: listeners(request), flowing: request.readableFlowing };
  });
}

describe("readRawBody", () => {
  it.each([
    ["nothing", new Uint8Array(0)],
    ["one byte", Uint8Array.of(0xff)],
    ["every byte", Uint8Array.from({ length: 256 }, (_, index) => index)],
    ["exactly the limit", new Uint8Array(MAX_BYTES).fill(0x61)],
  ])("gives the exact bytes of %s, and leaves no listener", async (_case, body) => {
    const { handler, outcome } = reading();
    const { url } = await serve(handler);
    await fetch(url, { method: "POST", body });
    const { bytes, before, after } = await outcome;
    expect(bytes).toBeInstanceOf(Buffer);
    expect(bytes).toEqual(Buffer.from(body));
    expect(after).toEqual(before);
  });

  it("removes its listeners when the body has ended: the close that follows causes no error", async () => {
    let atClose: number[] = [];
    let before: number[] = [];
    const { handler, outcome } = reading((request) => {
      request.prependListener("close", () => (atClose = listeners(request)));
      before = listeners(request);
    });
    const { url } = await serve(handler);
    await fetch(url, { method: "POST", body: "whole" });
    expect((await outcome).bytes?.toString()).toBe("whole");
    await expect.poll(() => atClose).toEqual(before);
  });

  it("gives the bytes of a chunked body, however it is cut", async () => {
    const { handler, outcome } = reading();
    const { port } = await serve(handler);
    const socket = await openRequest(port, { "transfer-encoding": "chunked" });
    for (const byte of "chunk by chunk") socket.write(`1\r\n${byte}\r\n`);
    socket.write("0\r\n\r\n");
    expect((await outcome).bytes?.toString()).toBe("chunk by chunk");
  });

  it.each([
    ["declared", { "content-length": "1000000" }, "x".repeat(MAX_BYTES + 1)],
    ["undeclared", { "transfer-encoding": "chunked" }, `7d0\r\n${"x".repeat(2_000)}\r\n`],
  ])("refuses a body beyond the limit at once, %s: the rest never comes", async (_case, headers, body) => {
    const { handler, outcome } = reading();
    const { port } = await serve(handler);
    const socket = await openRequest(port, headers);
    socket.write(body);
    const { error, before, after, flowing } = await outcome;
    expect(error).toBeInstanceOf(WebhookError);
    expect(error).toMatchObject({
      code: "ERR_BODY_TOO_LARGE",
      message: "The body is larger than the 1000 bytes this receiver accepts.",
    });
    expect(after).toEqual(before);
    expect(flowing).toBe(false);
  });

  it("fails when the sender hangs up before the body ends, and leaves no listener", async () => {
    const { handler, outcome } = reading();
    const { port } = await serve(handler);
    const socket = await openRequest(port, { "content-length": "100" });
    socket.write("half of it", () => socket.destroy());
    const { error, before, after } = await outcome;
    expect(error).toBeInstanceOf(WebhookError);
    expect(error).toMatchObject({ code: "ERR_BODY_ABORTED", status: 400 });
    expect(after).toEqual(before);
  });

  it("reads a stream that something paused", async () => {
    const { handler, outcome } = reading((request) => request.pause());
    const { url } = await serve(handler);
    await fetch(url, { method: "POST", body: "paused" });
    expect((await outcome).bytes?.toString()).toBe("paused");
  });

  it.each(["utf8", "latin1"] as const)(
    "refuses a stream that something set to %s, and says so",
    async (encoding) => {
      const { handler, outcome } = reading((request) => request.setEncoding(encoding));
      const { url } = await serve(handler);
      await fetch(url, { method: "POST", body: "Grüße 🎉" });
      expect((await outcome).error).toMatchObject({
        code: "ERR_BODY_ALREADY_READ",
        hint: expect.stringContaining("setEncoding()") as string,
      });
    },
  );

  it("reads a stream whose chunks are strings", async () => {
    const bytes = await readRawBody(Readable.from(["Grüße ", "🎉"]), { maxBytes: MAX_BYTES });
    expect(bytes.toString()).toBe("Grüße 🎉");
  });

  it("stops reading a body of too many chunks, however small it is", async () => {
    let sent = 0;
    const oneByteChunks = new Readable({
      highWaterMark: 1,
      read() {
        sent += 1;
        this.push(sent > 10_000 ? null : Buffer.from("x"));
      },
    });
    await expect(readRawBody(oneByteChunks, { maxBytes: 1_048_576 })).rejects.toMatchObject({
      code: "ERR_BODY_FRAGMENTED",
      status: 400,
      headers: { connection: "close" },
    });
    expect(sent).toBeLessThan(6_000);
    expect(listeners(oneByteChunks)).toEqual(listeners(new Readable()));
  });

  it("answers a client that sends its body in one-byte chunks, and hangs up on it", async () => {
    const receiver = createReceiver({ secret: "secret" });
    const { port } = await serve((request, response) => {
      void receiver.receive(toWebhookRequest(request)).then((received) => {
        if (received.verdict !== "verified") sendResponse(response, received.response);
      });
    });
    const { headers } = signedRequest(sampleMessages.track, "secret");
    const socket = await openRequest(port, { ...headers, "transfer-encoding": "chunked" });
    const answer: Buffer[] = [];
    socket.on("data", (bytes: Buffer) => answer.push(bytes));
    const closed = once(socket, "close");
    // The body never ends: only the bound on its chunks can.
    socket.write("1\r\nx\r\n".repeat(5_000));
    await closed;
    expect(Buffer.concat(answer).toString()).toMatch(
      /^HTTP\/1\.1 400 [^]*connection: close[^]*ERR_BODY_FRAGMENTED/i,
    );
  });

  it("takes a body of some thousand chunks, and more of a larger one", async () => {
    const chunks = (count: number, size: number): Readable =>
      Readable.from(Array.from({ length: count }, () => Buffer.alloc(size, "x")));
    expect(await readRawBody(chunks(4_096, 1), { maxBytes: 1_048_576 })).toHaveLength(4_096);
    const large = await readRawBody(chunks(8_000, 500), { maxBytes: 4_194_304 });
    expect(large).toHaveLength(4_000_000);
  });

  it("does not wait for a stream that has ended", async () => {
    const { handler, outcome } = outcomeOf(async (request) => {
      await readRawBody(request, { maxBytes: MAX_BYTES });
      return readRawBody(request, { maxBytes: MAX_BYTES }).catch((error: unknown) => error);
    });
    const { url } = await serve(handler);
    await fetch(url, { method: "POST", body: "once" });
    expect(await outcome).toMatchObject({ code: "ERR_BODY_ALREADY_READ" });
  });

  it("does not wait for a stream that is destroyed", async () => {
    const stream = new PassThrough();
    stream.destroy();
    await expect(readRawBody(stream, { maxBytes: MAX_BYTES })).rejects.toMatchObject({
      code: "ERR_BODY_ABORTED",
    });
    await once(stream, "close");
    await expect(readRawBody(stream, { maxBytes: MAX_BYTES })).rejects.toMatchObject({
      code: "ERR_BODY_ABORTED",
    });
  });

  it("fails when the stream is destroyed without an error", async () => {
    const stream = new PassThrough();
    const read = readRawBody(stream, { maxBytes: MAX_BYTES });
    stream.write("half of it");
    stream.destroy();
    await expect(read).rejects.toMatchObject({ code: "ERR_BODY_ABORTED" });
    expect(listeners(stream)).toEqual(listeners(new PassThrough()));
  });

  it("names what broke the stream", async () => {
    const cause = new Error("decoder failed");
    const stream = new Readable({
      read() {
        this.destroy(cause);
      },
    });
    await expect(readRawBody(stream, { maxBytes: MAX_BYTES })).rejects.toMatchObject({
      code: "ERR_BODY_ABORTED",
      cause,
    });
  });
});

describe("the callback form of reading", () => {
  const body = signedRequest(sampleMessages.track, "secret").body;
  const LIMIT = { maxBytes: 1_048_576 };

  /** Reads a request as a receiver does, and tells what came of it. */
  function readAsReceiver(
    prepare: (request: IncomingMessage) => void = () => {},
  ): ReturnType<
    typeof outcomeOf<{ bytes?: Uint8Array | undefined; error: unknown; before: number[]; after: number[] }>
  > {
    return outcomeOf(async (request) => {
      prepare(request);
      const before = listeners(request);
      const source = toWebhookRequest(request).body;
      if (source.from !== "stream") throw new Error(source.from);
      return new Promise((resolve) => {
        source.readThen?.(LIMIT, (error, bytes) =>
          resolve({ bytes, error, before, after: listeners(request) }),
        );
      });
    });
  }

  it("leaves the connection usable: the next request on it is answered, too", async () => {
    const receiver = createReceiver({ secret: "secret" });
    const ended = vi.fn<() => void>();
    const { url } = await serve((request, response) => {
      const answer = (status: number): void => void response.writeHead(status).end();
      request.on("end", ended);
      receiver.decide(
        toWebhookRequest(request),
        ({ verdict }) => answer(verdict === "verified" ? 204 : 401),
        () => answer(500),
      );
    });
    const { headers } = signedRequest(sampleMessages.track, "secret");
    for (let count = 1; count <= 3; count += 1) {
      expect((await fetch(url, { method: "POST", body, headers })).status).toBe(204);
      await expect.poll(() => ended.mock.calls.length).toBe(count);
    }
  });

  it("gives its bytes to who listens besides the receiver, before it and after it", async () => {
    const seen: Record<string, Buffer[]> = { before: [], after: [] };
    const listen = (when: string) => (request: IncomingMessage) =>
      void request.on("data", (chunk: Buffer) => seen[when]?.push(chunk));
    const early = readAsReceiver(listen("before"));
    const { url } = await serve(early.handler);
    await fetch(url, { method: "POST", body });
    const late = readAsReceiver();
    const { url: lateUrl } = await serve((request, response) => {
      late.handler(request, response);
      listen("after")(request);
    });
    await fetch(lateUrl, { method: "POST", body });
    for (const { outcome } of [early, late]) {
      expect(Buffer.from((await outcome).bytes as Uint8Array).equals(body)).toBe(true);
    }
    expect(Buffer.concat(seen["before"] ?? []).equals(body)).toBe(true);
    expect(Buffer.concat(seen["after"] ?? []).equals(body)).toBe(true);
  });

  it("fails where an encoding was set, as any other body does", async () => {
    const { handler, outcome } = readAsReceiver((request) => request.setEncoding("utf8"));
    const { url } = await serve(handler);
    await fetch(url, { method: "POST", body });
    expect((await outcome).error).toMatchObject({ code: "ERR_BODY_ALREADY_READ" });
  });

  it("fails when the sender hangs up after the headers", async () => {
    const { handler, outcome } = readAsReceiver();
    const { port } = await serve(handler);
    const socket = await openRequest(port, { "content-length": "100" });
    socket.write("half of it", () => socket.destroy());
    const { error, before, after } = await outcome;
    expect(error).toMatchObject({ code: "ERR_BODY_ABORTED" });
    expect(after).toEqual(before);
  });
});

describe("the buffer of a body", () => {
  it("holds what was appended, up to its limit and not a byte beyond", () => {
    const chunks = fc.array(fc.uint8Array({ maxLength: 9_000 }), { maxLength: 12 });
    fc.assert(
      fc.property(chunks, fc.integer({ min: 1, max: 60_000 }), (chunks, limit) => {
        const buffer = createBodyBuffer(limit);
        let expected = Buffer.alloc(0);
        for (const chunk of chunks) {
          const fits = expected.length + chunk.length <= limit;
          expect(buffer.append(chunk)).toBe(fits);
          if (fits) expected = Buffer.concat([expected, chunk]);
        }
        expect(Buffer.from(buffer.bytes()).equals(expected)).toBe(true);
      }),
    );
  });

  it("occupies no more than twice the body, or 16 KiB, whatever the size of its chunks", () => {
    const buffer = createBodyBuffer(1_048_576);
    for (let count = 0; count < 40_000; count++) buffer.append(Uint8Array.of(1));
    expect(buffer.bytes().buffer.byteLength).toBeLessThanOrEqual(80_000);
  });
});

describe("toWebhookRequest", () => {
  const text = JSON.stringify(sampleMessages.track);
  const bytes = Buffer.from(text);
  const parsed = sampleMessages.track;
  const hint = "mount it first";
  const other = Buffer.from("other");

  const precedence: [name: string, wasRead: boolean, left: object, body: object][] = [
    ["nothing read: the stream", false, {}, { from: "stream" }],
    ["Express 4's empty body, nothing read: the stream", false, { body: {} }, { from: "stream" }],
    ["rawBody as bytes", true, { rawBody: bytes }, { from: "raw", value: bytes }],
    ["rawBody as text", true, { rawBody: text }, { from: "raw", value: text }],
    ["rawBody before bytes in body", true, { rawBody: bytes, body: other }, { from: "raw", value: bytes }],
    ["rawBody before a parsed body", true, { rawBody: bytes, body: parsed }, { from: "raw", value: bytes }],
    [
      "rawBody although nothing was read, as where a platform made the request",
      false,
      { rawBody: bytes },
      { from: "raw", value: bytes },
    ],
    ["an empty rawBody", true, { rawBody: "", body: parsed }, { from: "raw", value: "" }],
    [
      "a rawBody of some other kind is passed over",
      true,
      { rawBody: { 0: 1 }, body: bytes },
      { from: "raw", value: bytes },
    ],
    ["body as bytes", true, { body: bytes }, { from: "raw", value: bytes }],
    ["body as text", true, { body: text }, { from: "raw", value: text }],
    ["body as text although nothing was read", false, { body: text }, { from: "raw", value: text }],
    ["a parsed body", true, { body: parsed }, { from: "parsed", value: parsed, hint }],
    ["nothing left", true, {}, { from: "gone", hint }],
    ["null left", true, { body: null }, { from: "gone", hint }],
    ["a number left", true, { body: 7 }, { from: "gone", hint }],
  ];

  it.each(precedence)("takes %s", async (_case, wasRead, left, expected) => {
    const { handler, outcome } = outcomeOf(async (request: NodeRequest) => {
      if (wasRead) await readRawBody(request, { maxBytes: MAX_BYTES });
      Object.assign(request, left);
      const { body, method, request: own } = toWebhookRequest(request, { alreadyReadHint: hint });
      expect(own).toBe(request);
      expect(method).toBe("POST");
      return body.from === "stream"
        ? { from: body.from, bytes: await body.read({ maxBytes: MAX_BYTES }) }
        : body;
    });
    const { url } = await serve(handler);
    await fetch(url, { method: "POST", body: text });
    expect(await outcome).toEqual(
      "from" in expected && expected.from === "stream" ? { ...expected, bytes } : expected,
    );
  });

  it.each([
    ["a parsed body", { body: parsed }, { verdict: "verified", webhook: { verifiedOver: "json" } }],
    ["bytes", { body: bytes }, { verdict: "verified", webhook: { verifiedOver: "bytes" } }],
    ["no body", {}, { verdict: "rejected", error: { code: "ERR_BODY_ALREADY_READ" } }],
  ])("takes a request that a test made, with %s and no stream", async (_case, left, expected) => {
    const { headers } = signedRequest(parsed, "secret");
    // As node-mocks-http makes it: an emitter with the rest of a request as plain properties.
    const request = Object.assign(new EventEmitter(), { method: "POST", headers, ...left });
    const receiver = createReceiver<NodeRequest>({ secret: "secret", onRejected() {} });
    const received = receiver.receive(toWebhookRequest(request as unknown as NodeRequest));
    expect(await received).toMatchObject(expected);
  });

  it("counts a stream as read once any byte of it is, though it has not ended", async () => {
    const { handler, outcome } = outcomeOf(async (request) => {
      await once(request, "readable");
      request.read(1);
      return toWebhookRequest(request).body.from;
    });
    const { port } = await serve(handler);
    const socket = await openRequest(port, { "content-length": "100" });
    socket.write("begun");
    expect(await outcome).toBe("gone");
  });

  it("uses the body that the framework kept, and reads the stream that it provides", async () => {
    const { handler, outcome } = outcomeOf(async (request) => {
      const own = { framework: true };
      const kept = toWebhookRequest(request, { request: own, kept: { body: parsed, rawBody: text } });
      const stream = Readable.from([Buffer.from("payload")], { objectMode: false });
      const { body } = toWebhookRequest(request, { stream });
      if (body.from !== "stream") throw new Error(body.from);
      return {
        own: kept.request === own,
        kept: kept.body,
        payload: await body.read({ maxBytes: MAX_BYTES }),
      };
    });
    const { url } = await serve(handler);
    await fetch(url, { method: "POST", body: "other" });
    expect(await outcome).toEqual({
      own: true,
      kept: { from: "raw", value: text },
      payload: Buffer.from("payload"),
    });
  });
});

describe("a receiver on node:http", () => {
  const secret = "secret";

  it("answers what toProblem says, once", async () => {
    const receiver = createReceiver({ secret });
    const { handler } = outcomeOf(async (request, response) => {
      const received = await receiver.receive(toWebhookRequest(request));
      if (received.verdict !== "rejected") return;
      sendResponse(response, received.response);
      sendResponse(response, toProblem(new WebhookError("ERR_INVALID_JSON")));
    });
    const { url } = await serve(handler);
    const { headers, body } = signedRequest(sampleMessages.track, "forger's");
    const response = await fetch(url, { method: "POST", headers, body });
    expect(response.status).toBe(401);
    expect(response.headers.get("content-type")).toBe("application/problem+json; charset=utf-8");
    expect(await response.json()).toMatchObject({ code: "ERR_SIGNATURE_MISMATCH" });
  });

  /** A client of a server over HTTP/2. */
  async function connectTo(
    listener: (request: Http2ServerRequest, response: Http2ServerResponse) => void,
  ): Promise<ClientHttp2Session> {
    const server = createHttp2Server(listener).listen(0, "127.0.0.1");
    await once(server, "listening");
    const session = connect(`http://127.0.0.1:${(server.address() as AddressInfo).port}`);
    onTestFinished(() => {
      session.destroy();
      server.close();
    });
    return session;
  }

  const { headers: signedHeaders, body: signedBody } = signedRequest(sampleMessages.track, secret);
  const head = { ":method": "POST", ":path": "/hooks", ...signedHeaders };

  it("takes, answers and settles requests of node:http2, and gives them to the secret function", async () => {
    const paths: string[] = [];
    const receiver = createReceiver<Http2ServerRequest>({
      secret: (request) => {
        paths.push(request.url);
        return secret;
      },
      dedupe: memoryDedupe(),
    });
    const session = await connectTo((request, response) => {
      void receiver.receive(toWebhookRequest(request)).then((received) => {
        if (received.verdict !== "verified") return sendResponse(response, received.response);
        settleWhenSent(received, response);
        response.writeHead(202).end();
      });
    });
    const statuses: unknown[] = [];
    for (let n = 0; n < 2; n += 1) {
      const sending = session.request(head);
      sending.end(signedBody);
      sending.resume();
      const [answered] = (await once(sending, "response")) as [{ ":status": number }];
      statuses.push(answered[":status"]);
      await once(sending, "close");
    }
    expect([statuses, paths]).toEqual([
      [202, 200],
      ["/hooks", "/hooks"],
    ]);
  });

  it("over HTTP/2 ends the stream of a body that is too large, which its sender goes on with, and keeps nothing of it", async () => {
    const receiver = createReceiver({ secret, maxBodyBytes: MAX_BYTES });
    let kept = 0;
    const ended: Promise<unknown>[] = [];
    const session = await connectTo((request, response) => {
      ended.push(once(request.stream, "close"));
      void receiver.receive(toWebhookRequest(request)).then((received) => {
        if (received.verdict === "rejected") sendResponse(response, received.response);
        kept = request.readableLength + request.stream.readableLength;
      });
    });
    const sending = session.request(head);
    // As much as a sender may send before it is asked for more.
    sending.write(Buffer.alloc(60_000, " "));
    sending.resume();
    const [answered] = (await once(sending, "response")) as [{ ":status": number }];
    await once(sending, "close");
    expect([answered[":status"], sending.rstCode, kept]).toEqual([413, constants.NGHTTP2_NO_ERROR, 0]);
    await Promise.all(ended);
  });

  it("settles once, by the status the response was first ended with", async () => {
    const settle = vi.fn<(status: number) => Promise<void>>(() => Promise.resolve());
    const { handler, outcome } = outcomeOf((_request, response) => {
      settleWhenSent({ settle }, response);
      expect(settle).not.toHaveBeenCalled();
      response.writeHead(202).end("accepted");
      response.statusCode = 500;
      response.end();
      return Promise.resolve();
    });
    const { url } = await serve(handler);
    const response = await fetch(url, { method: "POST" });
    await outcome;
    expect(await response.text()).toBe("accepted");
    expect(settle).toHaveBeenCalledExactlyOnceWith(202);
  });

  it("settles by the status the handler ends with, even for a sender that has hung up", async () => {
    const receiver = createReceiver({ secret, dedupe: memoryDedupe() });
    const gone = vi.fn<() => void>();
    const { handler, outcome } = outcomeOf(async (request, response) => {
      const received = await receiver.receive(toWebhookRequest(request));
      if (received.verdict !== "verified") throw new Error(received.verdict);
      settleWhenSent(received, response);
      // The handler is still at work when its sender loses patience.
      response.once("close", gone);
      socket.destroy();
      await once(response, "close");
      response.writeHead(204).end();
      response.end();
      return (await receiver.receive(repeated)).verdict;
    });
    const { port } = await serve(handler);
    const { headers, body } = signedRequest(sampleMessages.track, secret);
    const repeated = {
      method: "POST",
      headers,
      body: { from: "raw", value: body },
      request: undefined,
    } as const;
    const socket = await openRequest(port, { ...headers, "content-length": String(body.length) });
    socket.write(body);
    expect(await outcome).toBe("duplicate");
    expect(gone).toHaveBeenCalledOnce();
  });
});
