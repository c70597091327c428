import { createServer, type Socket } from "node:net";
import { audits, certify, createProbe } from "@countersign/certify";
import { describe, expect, it } from "vitest";
import { listen, SECRET } from "./support/listen.ts";

/** How much a receiver without end writes at a time. */
const FLOOD_BYTES = 64 * 1024;

/** What receivers do that mean no good, or are no HTTP servers at all. */
const hostile: Readonly<Record<string, (socket: Socket) => void>> = {
  "never answers": () => undefined,
  "closes at once": (socket) => socket.destroy(),
  "resets at once": (socket) => socket.resetAndDestroy(),
  "answers with garbage": (socket) => socket.end(Buffer.alloc(4096, 0xff)),
  "answers half a status line": (socket) => socket.write("HTTP/1.1 2"),
  "sends headers without end": (socket) =>
    flood(socket, "HTTP/1.1 200 OK\r\n", "X-Fill: 0123456789abcdef\r\n"),
  "says 100 Continue without end": (socket) => flood(socket, "", "HTTP/1.1 100 Continue\r\n\r\n"),
  "sends a body without end": (socket) =>
    flood(
      socket,
      "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n",
      `3fff\r\n${"x".repeat(0x3fff)}\r\n`,
    ),
  "never ends a body": (socket) => socket.write("HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nhalf"),
  "breaks a chunked body off": (socket) =>
    socket.end("HTTP/1.1 401 No\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n"),
  "changes the protocol": (socket) =>
    socket.end("HTTP/1.1 101 Switching Protocols\r\nUpgrade: x\r\nConnection: upgrade\r\n\r\n"),
  "answers twice": (socket) => socket.write("HTTP/1.1 204 No\r\n\r\n".repeat(2)),
};

describe("a receiver that", () => {
  it.each(Object.entries(hostile))("%s costs bounded time and memory", async (_, respond) => {
    const receiver = await listen(
      createServer((socket) => {
        socket.on("error", () => undefined);
        socket.once("data", () => respond(socket));
        socket.resume();
      }),
    );
    const before = process.memoryUsage().rss;
    const report = await certify({ url: receiver.url, secret: SECRET, timeoutMs: 50, deadlineMs: 3_000 });
    const grown = process.memoryUsage().rss - before;
    await receiver.close();
    expect(report.passed).toBe(false);
    expect(report.durationMs).toBeLessThan(6_000);
    expect(grown).toBeLessThan(200 * 1024 * 1024);
  });
});

it("keeps 64 KiB of an answer without end, and goes on to the next", async () => {
  let sent = 0;
  const receiver = await listen(
    createServer((socket) => {
      socket.on("error", () => undefined).on("close", () => (sent = socket.bytesWritten));
      socket.once("data", () => hostile["sends a body without end"]?.(socket));
    }),
  );
  const probe = createProbe({ url: receiver.url, secret: SECRET, timeoutMs: 5_000 });
  const { answer } = await probe.send({ what: "a message", body: "{}" });
  await receiver.close();
  expect(answer).toMatchObject({ status: 200, body: "x".repeat(64 * 1024) });
  // What the network's buffers hold, and no more: read for a second, it would be hundreds of megabytes.
  expect(sent).toBeLessThan(32 * 1024 * 1024);
});

it.each([
  ["answers-413-to-oversize", "413 Content Too Large", undefined],
  ["rejects-declared-oversize", "200 OK", /^200/],
  ["rejects-chunked-oversize", "200 OK", /^200/],
])("asks again for an answer that a reset may have overtaken: %s", async (id, status, received) => {
  let connections = 0;
  const receiver = await listen(
    createServer((socket) => {
      connections += 1;
      const isLast = connections === 3;
      socket.on("error", () => undefined);
      socket.once("data", () => {
        if (isLast) socket.end(`HTTP/1.1 ${status}\r\nContent-Length: 0\r\n\r\n`);
        else socket.resetAndDestroy();
      });
    }),
  );
  const probe = createProbe({ url: receiver.url, secret: SECRET });
  const failure = await audits.find((audit) => audit.id === id)?.run(probe);
  await receiver.close();
  expect(failure).toEqual(received && expect.objectContaining({ received: expect.stringMatching(received) }));
  expect(connections).toBe(3);
});

function flood(socket: Socket, start: string, piece: string): void {
  // Many at a time: written one by one, they would keep the event loop from the audits for as long as the kernel takes them.
  const pieces = Buffer.from(piece.repeat(Math.ceil(FLOOD_BYTES / piece.length)));
  const pour = (): void => {
    while (!socket.destroyed && socket.write(pieces));
  };
  socket.write(start);
  socket.on("drain", pour);
  pour();
}
