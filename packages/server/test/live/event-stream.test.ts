import { once } from "node:events";
import { connect } from "node:net";
import Fastify from "fastify";
import { createServer, type CountersignServer } from "@countersign/server";
import { beforeEach, describe, expect, it, vi } from "vitest";
import { EventStreams } from "../../src/live/event-stream.ts";
import { send } from "../support/http.ts";
import { SECRET, startReceiver } from "../support/receiver.ts";
import { cleanUp, closing } from "../support/resources.ts";

let server: CountersignServer;

beforeEach(async () => {
  const receiver = closing(await startReceiver());
  server = closing(await createServer({ to: receiver.url, secret: SECRET, port: 0 }));
});

interface Reader {
  readonly text: () => string;
  readonly ended: Promise<unknown>;
}

async function read(headers: Record<string, string> = {}): Promise<Reader> {
  const controller = new AbortController();
  cleanUp(() => controller.abort());
  const response = await fetch(`${server.url}/api/events`, { headers, signal: controller.signal });
  expect(response.headers.get("content-type")).toBe("text/event-stream");
  let text = "";
  const drain = async (): Promise<void> => {
    for await (const chunk of response.body ?? []) text += Buffer.from(chunk).toString();
  };
  return { text: () => text, ended: drain().catch(() => {}) };
}

const record = (event: string): Promise<unknown> =>
  send(`${server.url}/v1/track`, { method: "POST", body: { writeKey: "any", userId: "u", event } });

const namesIn = (text: string): string[] =>
  [...text.matchAll(/^event: (\w+)$/gm)].map(([, name]) => name ?? "");

describe("the event stream", () => {
  it("tells every reader of attempts, ends and rejections", async () => {
    const readers = [await read(), await read()];
    await record("Ordered");
    await server.sender.idle();
    await record("");
    for (const { text } of readers) {
      await vi.waitFor(() => expect(namesIn(text())).toEqual(["attempt", "delivered", "rejected"]));
      expect(text()).toContain('"reason":"missing_event"');
      expect(text()).toMatch(/^id: 1$/m);
    }
  });

  it("sends the missed events to a reader that reconnects", async () => {
    await record("Ordered");
    await server.sender.idle();
    const reader = await read({ "last-event-id": "1" });
    await vi.waitFor(() => expect(namesIn(reader.text())).toEqual(["delivered"]));
  });

  it("cuts off a reader that falls far behind, and lets it come back", async () => {
    const { port } = new URL(server.url);
    const stalled = connect(Number(port), "127.0.0.1");
    cleanUp(() => stalled.destroy());
    stalled.on("error", () => {});
    stalled.pause();
    stalled.write("GET /api/events HTTP/1.1\r\nHost: localhost\r\n\r\n");
    await once(stalled, "connect");
    const batch = Array.from({ length: 2_500 }, () => ({ type: "x".repeat(100) }));
    const batches = 40;
    let told = 0;
    server.subscribe(() => (told += 1));
    for (let n = 0; n < batches; n += 1) {
      await send(`${server.url}/v1/batch`, { method: "POST", body: { writeKey: "any", batch } });
    }
    expect(told).toBe(2_500 * batches);
    let last = 0;
    stalled.on("data", (data: Buffer) => {
      for (const [, id] of data.toString().matchAll(/^id: (\d+)$/gm)) last = Math.max(last, Number(id));
    });
    stalled.resume();
    await once(stalled, "close");
    expect(last).toBeLessThan(2_500 * batches);
    const again = await read({ "last-event-id": String(last) });
    await vi.waitFor(() => expect(again.text()).toContain(`id: ${2_500 * batches}`));
  });

  it("can be followed from the same process, from the beginning or from now on", async () => {
    await record("Ordered");
    await server.sender.idle();
    const all: string[] = [];
    const later: string[] = [];
    const stop = server.subscribe(({ event }) => all.push(event), 0);
    server.subscribe(({ event }) => later.push(event));
    expect([all, later]).toEqual([["attempt", "delivered"], []]);
    await record("");
    stop();
    await record("");
    expect([all, later]).toEqual([
      ["attempt", "delivered", "rejected"],
      ["rejected", "rejected"],
    ]);
  });

  it("forgets a reader that has left", async () => {
    const unsubscribe = vi.fn<() => void>();
    const streams = new EventStreams({ subscribe: () => unsubscribe });
    const app = Fastify();
    app.get("/", (request, reply) => streams.open(request, reply));
    const url = await app.listen({ port: 0, host: "127.0.0.1" });
    cleanUp(() => app.close());
    const controller = new AbortController();
    await fetch(url, { signal: controller.signal });
    expect(unsubscribe).not.toHaveBeenCalled();
    controller.abort();
    await vi.waitFor(() => expect(unsubscribe).toHaveBeenCalledTimes(1));
  });

  it("ends when the server closes", async () => {
    const reader = await read();
    // Long enough for the test to fail if the stream held the server open until then.
    await server.close({ deadlineMs: 60_000 });
    await reader.ended;
    expect(reader.text()).toContain("retry: 1000");
  });
});
