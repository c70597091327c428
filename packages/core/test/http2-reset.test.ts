import { Buffer } from "node:buffer";
import { once } from "node:events";
import { constants, createServer, type Http2ServerRequest, type Http2ServerResponse } from "node:http2";
import type { AddressInfo, Socket } from "node:net";
import { createReceiver, type Received, type ReceiverOptions } from "@countersign/core";
import { sendResponse, toWebhookRequest } from "@countersign/core/node";
import { sampleMessages, signedRequest } from "@countersign/core/testing";
import { describe, expect, it, onTestFinished } from "vitest";
import { endFrame, openFrames, postFrames, resetFrame } from "./support/http2-frames.ts";

const { NGHTTP2_NO_ERROR: NO_ERROR, NGHTTP2_CANCEL: CANCEL } = constants;
const SECRET = "secret";
const { headers, body } = signedRequest(sampleMessages.track, SECRET);
const half = body.subarray(0, 40);

/** A server, a connection to it, and what comes of the first request. */
async function serve<T>(
  handle: (request: Http2ServerRequest, response: Http2ServerResponse) => Promise<T>,
): Promise<{ socket: Socket; outcome: Promise<T> }> {
  const server = createServer().listen(0, "127.0.0.1");
  const outcome = new Promise<T>((resolve, reject) => {
    server.on("request", (request, response) => void handle(request, response).then(resolve, reject));
  });
  await once(server, "listening");
  const socket = await openFrames((server.address() as AddressInfo).port);
  onTestFinished(() => {
    socket.destroy();
    server.close();
  });
  return { socket, outcome };
}

/** The code of a rejection, or the verdict. */
function resultOf(received: Received): string {
  return received.verdict === "rejected" ? received.error.code : received.verdict;
}

/** Verifies as an adapter does. */
async function verdictOn(
  request: Http2ServerRequest,
  response: Http2ServerResponse,
  options: Partial<ReceiverOptions<Http2ServerRequest>> = {},
): Promise<string> {
  const receiver = createReceiver<Http2ServerRequest>({ secret: SECRET, onRejected: () => {}, ...options });
  const received = await receiver.receive(toWebhookRequest(request));
  if (received.verdict === "rejected") sendResponse(response, received.response);
  return resultOf(received);
}

describe.each([
  ["without an error", NO_ERROR],
  ["as cancelled", CANCEL],
])("a request over HTTP/2 that its sender resets %s", (_how, code) => {
  it("in the middle of its body is an aborted body, and no wrong signature", async () => {
    const { socket, outcome } = await serve(verdictOn);
    socket.write(Buffer.concat([postFrames(headers, half), resetFrame(code)]));
    expect(await outcome).toBe("ERR_BODY_ABORTED");
  });

  it("after its half was read is an aborted body", async () => {
    const { socket, outcome } = await serve((request, response) => {
      request.stream.once("data", () => socket.write(resetFrame(code)));
      return verdictOn(request, response);
    });
    socket.write(postFrames({ ...headers, "content-length": String(body.length) }, half));
    expect(await outcome).toBe("ERR_BODY_ABORTED");
  });

  it("while the secret is looked up is an aborted body, and none that something else read", async () => {
    const { socket, outcome } = await serve((request, response) =>
      verdictOn(request, response, {
        secret: async () => {
          socket.write(resetFrame(code));
          await once(request, "close");
          return SECRET;
        },
      }),
    );
    socket.write(postFrames(headers, half));
    expect(await outcome).toBe("ERR_BODY_ABORTED");
  });

  it("before the receiver is asked is an aborted body", async () => {
    const { socket, outcome } = await serve(async (request, response) => {
      await once(request, "close");
      return verdictOn(request, response);
    });
    socket.write(Buffer.concat([postFrames(headers, half), resetFrame(code)]));
    expect(await outcome).toBe("ERR_BODY_ABORTED");
  });

  it("fails readRawBody, which would otherwise give half of the body", async () => {
    const { socket, outcome } = await serve(async (request) => {
      const { body: source } = toWebhookRequest(request);
      if (source.from !== "stream") throw new Error(source.from);
      return source.read({ maxBytes: 1_000 }).catch((error: unknown) => error);
    });
    socket.write(Buffer.concat([postFrames(headers, half), resetFrame(code)]));
    expect(await outcome).toMatchObject({ code: "ERR_BODY_ABORTED" });
  });
});

it("takes a message over HTTP/2 that has arrived whole, though its sender does not wait for the answer", async () => {
  const { socket, outcome } = await serve(verdictOn);
  socket.write(Buffer.concat([postFrames(headers, body), endFrame(), resetFrame(NO_ERROR)]));
  expect(await outcome).toBe("verified");
});
