import assert from "node:assert/strict";
import { createServer, type IncomingMessage, type Server } from "node:http";
import { connect, type AddressInfo } from "node:net";
import { PassThrough } from "node:stream";
import { setImmediate as turn } from "node:timers/promises";
import { WebhookError } from "@countersign/core";
import { readStream } from "@countersign/core/web";
import { readRawBody } from "@countersign/core/node";
import fc from "fast-check";
import { fuzzTarget, type FuzzTarget } from "./harness.ts";

type Outcome = Uint8Array | WebhookError;

/** What a reader came to. Anything but bytes or a coded error is a fault. */
async function outcomeOf(reading: Promise<Uint8Array>): Promise<Outcome> {
  try {
    return await reading;
  } catch (error) {
    if (error instanceof WebhookError) return error;
    throw error;
  }
}

function assertCode(outcome: Outcome, ...codes: readonly string[]): void {
  assert.ok(outcome instanceof WebhookError, "the body is accepted");
  assert.ok(codes.includes(outcome.code), `${outcome.code}, not ${codes.join(" or ")}`);
}

function assertBytes(outcome: Outcome, expected: Uint8Array): void {
  if (outcome instanceof WebhookError) throw outcome;
  assert.equal(Buffer.compare(outcome, expected), 0, "the bytes are not those that were sent");
}

const chunks = fc.array(fc.uint8Array({ maxLength: 300 }), { maxLength: 40 });
const limit = fc.oneof(fc.constantFrom(0, 1), fc.nat(4_000), fc.constant(1_048_576));

/** However a stream is cut, paused or broken off: exactly its bytes, or a code; never a part of them, and never a hang. */
const nodeStream = fuzzTarget({
  name: "body reader of Node streams",
  share: 60,
  input: fc.record({
    chunks,
    maxBytes: limit,
    end: fc.constantFrom("end", "destroy", "fail"),
    paused: fc.boolean(),
    turns: fc.boolean(),
    decoded: fc.nat(19).map((number) => number === 0),
  }),
  async check({ chunks, maxBytes, end, paused, turns, decoded }) {
    // Whoever owns a stream listens to its errors: the reader leaves no listener behind.
    const stream = new PassThrough().on("error", () => {});
    if (decoded) stream.setEncoding("utf8");
    if (paused) stream.pause();
    const reading = outcomeOf(readRawBody(stream, { maxBytes }));
    for (const chunk of chunks) {
      stream.write(chunk);
      if (turns) await turn();
    }
    if (end === "end") stream.end();
    else stream.destroy(end === "fail" ? new Error("broken") : undefined);
    const sent = Buffer.concat(chunks);
    const outcome = await reading;
    // Text no longer has the bytes that were signed.
    if (decoded) assertCode(outcome, "ERR_BODY_ALREADY_READ");
    else if (end !== "end")
      assertCode(outcome, "ERR_BODY_ABORTED", ...(sent.length > maxBytes ? ["ERR_BODY_TOO_LARGE"] : []));
    else if (sent.length > maxBytes) assertCode(outcome, "ERR_BODY_TOO_LARGE");
    else assertBytes(outcome, sent);
    for (const event of ["data", "end"])
      assert.equal(stream.listenerCount(event), event === "end" ? ownEnds() : 0);
    stream.destroy();
  },
});

/** A PassThrough listens to the end of itself. */
function ownEnds(): number {
  return new PassThrough().listenerCount("end");
}

const webStream = fuzzTarget({
  name: "body reader of web streams",
  share: 40,
  input: fc.record({ chunks, maxBytes: limit, end: fc.constantFrom("close", "error") }),
  async check({ chunks, maxBytes, end }) {
    const queue = [...chunks];
    const stream = new ReadableStream<Uint8Array>({
      pull(controller) {
        const next = queue.shift();
        if (next !== undefined) controller.enqueue(next);
        else if (end === "close") controller.close();
        else controller.error(new Error("broken"));
      },
    });
    const outcome = await outcomeOf(readStream(stream, { maxBytes }));
    const sent = Buffer.concat(chunks);
    if (sent.length > maxBytes) assertCode(outcome, "ERR_BODY_TOO_LARGE");
    else if (end === "error") assertCode(outcome, "ERR_BODY_ABORTED");
    else assertBytes(outcome, sent);
  },
});

const MAX_BYTES = 2_048;

interface SocketSubject {
  readonly server: Server;
  /** What the reader came to for the request of a path. */
  readonly outcomes: Map<string, (outcome: Promise<Outcome>) => void>;
  count: number;
}

async function openServer(): Promise<SocketSubject> {
  const outcomes: SocketSubject["outcomes"] = new Map();
  const server = createServer((request: IncomingMessage, response) => {
    const outcome = outcomeOf(readRawBody(request, { maxBytes: MAX_BYTES }));
    outcomes.get(request.url ?? "")?.(outcome);
    outcome.then(
      () => response.writeHead(204, { connection: "close" }).end(),
      () => response.destroy(),
    );
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  return { server, outcomes, count: 0 };
}

function closeServer({ server }: SocketSubject): Promise<void> {
  server.closeAllConnections();
  return new Promise((resolve) => server.close(() => resolve()));
}

const socketInput = fc.record({
  chunks: fc.array(fc.uint8Array({ minLength: 1, maxLength: 500 }), { maxLength: 8 }),
  framing: fc.oneof(
    fc.record({
      kind: fc.constant("length" as const),
      lie: fc.oneof(fc.constant(0), fc.integer({ min: -600, max: 600 }), fc.constant(1e9)),
    }),
    fc.record({ kind: fc.constant("chunked" as const), broken: fc.constantFrom("no", "size", "end") }),
  ),
  hangUp: fc.constantFrom("end", "destroy"),
});
type SocketInput = typeof socketInput extends fc.Arbitrary<infer T> ? T : never;

/** The bytes of a request, piece by piece, and what a reader may make of them. */
function written({ chunks, framing }: SocketInput, path: string) {
  const sent = Buffer.concat(chunks);
  const declared = framing.kind === "length" ? Math.max(0, sent.length + framing.lie) : 0;
  const frame = framing.kind === "length" ? `Content-Length: ${declared}` : "Transfer-Encoding: chunked";
  const head = Buffer.from(`POST ${path} HTTP/1.1\r\nHost: a\r\nConnection: close\r\n${frame}\r\n\r\n`);
  if (framing.kind === "length") {
    const isWhole = sent.length >= declared;
    return {
      pieces: [head, ...chunks],
      body: sent.subarray(0, declared),
      isWhole,
      size: Math.min(sent.length, declared),
    };
  }
  const pieces = chunks.map((chunk, index) => {
    const size = framing.broken === "size" && index === chunks.length - 1 ? "zz" : chunk.length.toString(16);
    return Buffer.concat([Buffer.from(`${size}\r\n`), chunk, Buffer.from("\r\n")]);
  });
  const last = Buffer.from(framing.broken === "end" ? "0\r" : "0\r\n\r\n");
  const isBroken = framing.broken === "end" || (framing.broken === "size" && chunks.length > 0);
  return { pieces: [head, ...pieces, last], body: sent, isWhole: !isBroken, size: sent.length };
}

/** The same over sockets: lengths that lie, chunks that are none, connections that end early. */
const sockets = fuzzTarget<SocketInput, SocketSubject>({
  name: "body reader over sockets",
  share: 10,
  open: openServer,
  close: closeServer,
  input: socketInput,
  async check(input, subject) {
    const path = `/${(subject.count += 1)}`;
    const { pieces, body, isWhole, size } = written(input, path);
    const reading = new Promise<Outcome>((resolve) => subject.outcomes.set(path, resolve));
    const socket = connect((subject.server.address() as AddressInfo).port, "127.0.0.1");
    socket.on("error", () => {}).resume();
    for (const piece of pieces) {
      socket.write(piece);
      await turn();
    }
    // A body that is whole is answered; the rest is given up by the client.
    if (isWhole) socket.end();
    else if (input.hangUp === "end") socket.end();
    else socket.destroySoon();
    const outcome = await reading;
    subject.outcomes.delete(path);
    if (isWhole && size <= MAX_BYTES) assertBytes(outcome, body);
    else if (isWhole) assertCode(outcome, "ERR_BODY_TOO_LARGE");
    else assertCode(outcome, "ERR_BODY_ABORTED", "ERR_BODY_TOO_LARGE");
    socket.destroy();
  },
});

export const bodyReaderTargets: readonly FuzzTarget[] = [nodeStream, webStream, sockets];
