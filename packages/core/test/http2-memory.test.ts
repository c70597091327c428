import { Buffer } from "node:buffer";
import { once } from "node:events";
import { createServer } from "node:http2";
import type { AddressInfo } from "node:net";
import type { Readable } from "node:stream";
import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import { readRawBody } from "@countersign/core/node";
import { signedRequest, sampleMessages } from "@countersign/core/testing";
import { expect, it, onTestFinished } from "vitest";
import { dataFrame, endFrame, ignoredFrame, openFrames, postFrames } from "./support/http2-frames.ts";

/** The memory of all buffers that are still reachable, in bytes. */
function buffersInUse(): number {
  setFlagsFromString("--expose-gc");
  (runInNewContext("gc") as () => void)();
  return process.memoryUsage().arrayBuffers;
}

it("a body over HTTP/2 keeps its bytes, and not what else arrived with each of them", async () => {
  const PARTS = 500;
  const server = createServer().listen(0, "127.0.0.1");
  // In a list: it is a promise, for whose end nothing here waits yet.
  const arrived = new Promise<readonly [Promise<Uint8Array>]>((resolve) => {
    server.on("request", (request) => {
      const bytes = readRawBody(request as unknown as Readable, { maxBytes: 1_048_576 });
      let length = 0;
      request.on("data", (chunk: Buffer) => {
        length += chunk.length;
        if (length === PARTS) resolve([bytes]);
      });
    });
  });
  await once(server, "listening");
  const socket = await openFrames((server.address() as AddressInfo).port);
  onTestFinished(() => {
    socket.destroy();
    server.close();
  });
  const { headers } = signedRequest(sampleMessages.track, "secret");
  socket.write(postFrames(headers, Buffer.alloc(0)));
  const before = buffersInUse();
  const part = Buffer.concat([
    dataFrame(Buffer.from("x")),
    ...Array.from({ length: 4 }, () => ignoredFrame(16_000)),
  ]);
  for (let n = 0; n < PARTS; n += 1) if (!socket.write(part)) await once(socket, "drain");
  const [bytes] = await arrived;
  // What is sent is 32 MB.
  // V8 frees buffers after a collection, beside what runs.
  await expect.poll(() => buffersInUse() - before).toBeLessThan(4_000_000);
  socket.write(endFrame());
  expect(await bytes).toHaveLength(PARTS);
});
