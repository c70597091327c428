import type { IncomingMessage } from "node:http";
import { connect, type Socket } from "node:net";
import { WebhookError } from "@countersign/core";
import { sampleMessages, signedRequest } from "@countersign/core/testing";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { post } from "./support/post.ts";
import { asWritten, wireBytes } from "./support/raw-exchange.ts";
import { receivers, start, type RunningReceiver } from "./support/receivers.ts";

const SECRET = "secret";
const delivery = signedRequest(sampleMessages.track, SECRET);

describe.each(receivers)("$name", (receiver) => {
  let running: RunningReceiver;
  let requests: IncomingMessage[];
  const handle = vi.fn<() => void | Promise<void>>();
  beforeEach(async () => {
    handle.mockReset();
    requests = [];
    running = await start(receiver, { secret: SECRET, handle });
    running.server.on("request", (request: IncomingMessage) => requests.push(request));
  });
  afterEach(() => running.close());

  /** Sends all of a delivery but its last bytes, and leaves the connection open. */
  async function stall(): Promise<Socket> {
    const before = requests.length;
    const socket = connect(Number(new URL(running.url).port), "127.0.0.1");
    socket.on("error", () => {});
    socket.write(wireBytes(running.url, asWritten(delivery)).subarray(0, -10));
    await vi.waitFor(() => expect(requests.length).toBeGreaterThan(before));
    return socket;
  }

  async function expectNothingHeld(): Promise<void> {
    await vi.waitFor(async () => expect(await openConnections(running)).toBe(0));
    await vi.waitFor(() => expect(requests.every(({ destroyed }) => destroyed)).toBe(true));
    // What listens to a request under fetch is its server's, not ours.
    const listening = requests.filter((request) => request.listenerCount("data") > 0);
    if (receiver.name !== "fetch in Hono") expect(listening).toEqual([]);
  }

  it("answers others while clients stall, and holds nothing once they are gone", async () => {
    const stalled = await Promise.all(Array.from({ length: 20 }, stall));
    expect((await post(running.url, delivery)).status).toBe(204);
    for (const socket of stalled) socket.destroy();
    await expectNothingHeld();
    expect(handle).toHaveBeenCalledOnce();
  });

  it("answers by the framework's own 500 where the handler throws, and a later delivery as before", async () => {
    handle.mockImplementationOnce(() => Promise.reject(new Error("database down")));
    const failed = await post(running.url, delivery);
    expect(failed.status).toBe(500);
    expect(failed.headers["content-type"] ?? "").not.toContain("application/problem+json");
    expect((await post(running.url, delivery)).status).toBe(204);
    await expectNothingHeld();
  });

  it("answers by the status of a WebhookError that a handler throws, such as a router's", async () => {
    handle.mockImplementationOnce(() => Promise.reject(new WebhookError("ERR_INVALID_MESSAGE")));
    const refused = await post(running.url, delivery);
    expect(refused.status).toBe(422);
  });
});

function openConnections({ server }: RunningReceiver): Promise<number> {
  return new Promise((resolve, reject) => {
    server.getConnections((error, count) => (error === null ? resolve(count) : reject(error)));
  });
}
