import { EventEmitter, once } from "node:events";
import { connect, type Socket } from "node:net";
import { gzipSync } from "node:zlib";
import Fastify from "fastify";
import type { Sender } from "@countersign/sender";
import { createServer, type CountersignServer } from "@countersign/server";
import { beforeEach, describe, expect, it, onTestFinished, vi } from "vitest";
import { EventLog } from "../../src/live/event-log.ts";
import { EventStreams } from "../../src/live/event-stream.ts";
import type { LiveEventBody } from "../../src/live/live-event.ts";
import { LiveEvents } from "../../src/live/live-events.ts";
import { readEvents } from "../support/event-reader.ts";
import { send } from "../support/http.ts";
import { SECRET, startReceiver } from "../support/receiver.ts";
import { cleanUp, closing } from "../../../../tests/support/resources.ts";

let server: CountersignServer;
const errors: unknown[] = [];

beforeEach(async () => {
  errors.length = 0;
  const receiver = closing(await startReceiver());
  server = closing(
    await createServer({ to: receiver.url, secret: SECRET, port: 0, onError: (error) => errors.push(error) }),
  );
});

const record = (event: string): Promise<unknown> =>
  send(`${server.url}/v1/track`, { method: "POST", body: { writeKey: "any", userId: "u", event } });

/** Causes `count` events quickly: calls that go to no destination. */
async function skip(count: number): Promise<void> {
  const call = { type: "page", userId: "u", integrations: { All: false } };
  for (let left = count; left > 0; left -= 2_500) {
    const batch = Array.from({ length: Math.min(left, 2_500) }, () => call);
    await send(`${server.url}/v1/batch`, { method: "POST", body: { writeKey: "any", batch } });
  }
}

it("asks proxies not to change it: HAProxy, when it compresses, keeps the end of an event back until the next one", async () => {
  const controller = new AbortController();
  cleanUp(() => controller.abort());
  const { headers } = await fetch(`${server.url}/api/events`, { signal: controller.signal });
  expect(headers.get("cache-control")?.split(", ")).toEqual(["no-store", "no-transform"]);
  expect(headers.get("x-accel-buffering")).toBe("no");
});

const numberOf = (id: string): number => Number(id.split("-")[1]);

describe("the log of events", () => {
  it.each([
    ["delivered", {}, undefined],
    ["retrying", {}, "http://127.0.0.1:9/"],
    ["skipped", { integrations: { All: false } }, undefined],
  ])(
    "does not grow with the names in calls: %s",
    async (kind, more, unreachable) => {
      if (unreachable !== undefined) server = closing(await createServer({ to: unreachable, port: 0 }));
      for (let batches = 0; batches < 24; batches += 1) {
        const batch = Array.from({ length: 15 }, () => {
          return { type: "track", userId: "u".repeat(16_000), event: "e".repeat(16_000), ...more };
        });
        const answer = await send(`${server.url}/v1/batch`, {
          method: "POST",
          body: { writeKey: "any", batch },
        });
        expect(answer.status).toBe(200);
      }
      if (unreachable === undefined) await server.sender.idle();
      else await vi.waitFor(() => expect(kept("retrying")).toBeGreaterThan(0));
      // 360 calls of 32 KB are more than the log keeps.
      expect(kept(kind)).toBeGreaterThan(0);
      expect(kept()).toBeLessThan(9 * 1_024 * 1_024);
    },
    30_000,
  );

  /** The characters of all events that are kept, or of those of one kind. */
  function kept(kind?: string): number {
    let characters = 0;
    const stop = server.subscribe((event) => {
      if (kind === undefined || event.event === kind) characters += JSON.stringify(event).length;
    }, "start");
    stop();
    return characters;
  }
});

it("an error of the store that each delivery meets again every second is told once a minute", () => {
  const sender = new EventEmitter();
  const events = new LiveEvents(sender as unknown as Sender, { now: () => 0, onError: () => {} });
  const told: unknown[] = [];
  events.subscribe((event) => told.push("message" in event && event.message));
  const fail = (message: string): void => {
    for (let count = 0; count < 20; count += 1) sender.emit("storeError", { error: new Error(message) });
  };
  vi.useFakeTimers({ toFake: ["performance"] });
  onTestFinished(() => void vi.useRealTimers());
  for (let second = 0; second < 60; second += 1) {
    fail("The disk is full.");
    vi.advanceTimersByTime(1_000);
  }
  expect(told).toEqual(["The disk is full."]);
  fail("The disk failed.");
  fail("The disk is full.");
  expect(told).toEqual(["The disk is full.", "The disk failed.", "The disk is full."]);
});

describe("the event stream", () => {
  it("tells every reader of attempts, ends and rejections, in the shape of the API", async () => {
    const readers = [await readEvents(server.url), await readEvents(server.url)];
    await record("Ordered");
    await server.sender.idle();
    await record("");
    for (const { names, events } of readers) {
      await vi.waitFor(() =>
        expect(names()).toEqual(["hello", "accepted", "attempt", "delivered", "rejected"]),
      );
      const [, accepted, attempt = {}, delivered, rejected] = events();
      expect(attempt).toMatchObject({
        delivery: { type: "track", event: "Ordered", identity: "u" },
        attempt: { round: 1, outcome: "success", status: 204, response: "" },
      });
      expect(accepted).toMatchObject({ delivery: attempt["delivery"] });
      expect(delivered).toMatchObject({ state: "delivered" });
      expect(rejected).toMatchObject({ rejection: { reason: "missing_event" } });
      const times = [attempt["at"], (attempt["delivery"] as { acceptedAt: unknown }).acceptedAt];
      for (const time of times) expect(time).toMatch(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/);
      const { durationMs } = attempt["attempt"] as { durationMs: number };
      expect(durationMs * 10).toBeCloseTo(Math.round(durationMs * 10), 6);
    }
  });

  it("sends the missed events to a reader that reconnects, by header or by parameter", async () => {
    await record("Ordered");
    await server.sender.idle();
    const all: string[] = [];
    server.subscribe(({ id }) => all.push(id), "start");
    for (const reader of [
      await readEvents(server.url, { headers: { "last-event-id": all[0] ?? "" } }),
      await readEvents(server.url, { query: `?after=${all[0]}` }),
    ]) {
      await vi.waitFor(() => expect(reader.names()).toEqual(["hello", "attempt", "delivered"]));
    }
  });

  it("has ten rejections of one request, with how many more there are: a few bytes of gzip push out no other events", async () => {
    const reader = await readEvents(server.url);
    const start = String(reader.events()[0]?.["id"]);
    const body = { writeKey: "any", batch: Array.from({ length: 2_500 }, () => 1) };
    for (let requests = 0; requests < 5; requests += 1) {
      const bytes = gzipSync(JSON.stringify(body));
      expect(bytes.length).toBeLessThan(100);
      const headers = { "content-encoding": "gzip" };
      expect((await fetch(`${server.url}/v1/batch`, { method: "POST", headers, body: bytes })).status).toBe(
        200,
      );
    }
    await vi.waitFor(() => expect(reader.events().at(-1)).toMatchObject({ id: start.replace(/\d+$/, "50") }));
    const rejected = reader.events().slice(1);
    expect(rejected.map(({ more }) => more).filter((more) => more !== undefined)).toEqual(
      Array.from({ length: 5 }, () => 2_490),
    );
    expect(rejected[40]).toMatchObject({
      event: "rejected",
      rejection: { reason: "not_an_object", index: 0 },
    });
    const metrics = (await send(`${server.url}/metrics`)).text;
    expect(metrics).toContain('countersign_calls_rejected_total{reason="not_an_object"} 12500');
  });

  it("bundles the events of an interval into one message, and loses none", async () => {
    const reader = await readEvents(server.url, { query: "?every=50" });
    await skip(2_500);
    await vi.waitFor(() => expect(reader.events()).toHaveLength(2_501));
    expect(reader.messages()).toBeLessThan(100);
    expect(
      reader
        .events()
        .slice(1)
        .map(({ id }) => numberOf(String(id))),
    ).toEqual(Array.from({ length: 2_500 }, (_, n) => n + 1));
  });

  it("refuses an interval that is none", async () => {
    expect((await send(`${server.url}/api/events?every=soon`)).status).toBe(400);
    expect((await send(`${server.url}/api/events?every=1`)).status).toBe(400);
  });

  it("tells a reader of another run, or with a damaged id, to read everything anew", async () => {
    let last = "";
    server.subscribe(({ id }) => (last = id));
    await record("Ordered");
    await server.sender.idle();
    // Of this run, and of an event that is still to come: to wait for it would leave out those before it.
    const ahead = `${last.split("-", 1)[0]}-1000`;
    for (const id of ["0123456789-1", "7", "nonsense", "-1", ahead]) {
      const reader = await readEvents(server.url, { headers: { "last-event-id": id } });
      await vi.waitFor(() =>
        expect(reader.events()).toMatchObject([{ event: "reset", reason: "restarted" }]),
      );
      await skip(1);
      await vi.waitFor(() => expect(reader.names()).toEqual(["reset", "skipped"]));
    }
  });

  it("tells a reader of events that are no longer kept to read everything anew", async () => {
    await record("Ordered");
    await server.sender.idle();
    let first = "";
    server.subscribe(({ id }) => (first ||= id), "start");
    await skip(12_500);
    const reader = await readEvents(server.url, { headers: { "last-event-id": first } });
    await vi.waitFor(() => expect(reader.events()).toMatchObject([{ event: "reset", reason: "missed" }]));
    await skip(1);
    await vi.waitFor(() => expect(reader.names()).toEqual(["reset", "skipped"]));
  });

  it("gives a reader that missed 2,000 events all of them, or a reset when the server was restarted", async () => {
    await skip(1);
    let last = "";
    const stop = server.subscribe(({ id }) => (last = id), "start");
    stop();
    await skip(2_000);
    const reader = await readEvents(server.url, { headers: { "last-event-id": last } });
    await vi.waitFor(() => expect(reader.events()).toHaveLength(2_001));
    const numbers = reader.events().map(({ id }) => numberOf(String(id)));
    expect(numbers).toEqual(Array.from({ length: 2_001 }, (_, n) => n + 1));
    await server.close();
    server = closing(await createServer({ to: "http://127.0.0.1:1/", port: 0 }));
    await skip(2_500);
    const again = await readEvents(server.url, {
      headers: { "last-event-id": String(reader.events().at(-1)?.["id"]) },
    });
    await vi.waitFor(() => expect(again.events()).toMatchObject([{ event: "reset", reason: "restarted" }]));
  });

  async function stall(): Promise<Socket> {
    const { port } = new URL(server.url);
    const stalled = connect(Number(port), "127.0.0.1");
    cleanUp(() => stalled.destroy());
    stalled.on("error", () => {});
    stalled.pause();
    stalled.write("GET /api/events HTTP/1.1\r\nHost: localhost\r\n\r\n");
    await once(stalled, "connect");
    return stalled;
  }

  it("takes no memory for a reader that takes nothing, and gives it a reset when it reads on", async () => {
    const stalled = await stall();
    let told = 0;
    server.subscribe(() => (told += 1));
    await skip(100_000);
    expect(told).toBe(100_000);
    let text = "";
    stalled.on("data", (data: Buffer) => (text += data.toString()));
    stalled.resume();
    await vi.waitFor(() => expect(text).toContain("event: reset"));
    await skip(1);
    await vi.waitFor(() => expect(text).toMatch(/id: \w+-100001\n/));
    const received = text.match(/^event: skipped$/gm)?.length ?? 0;
    // What the sockets of both sides hold, and no more.
    expect(received).toBeLessThan(90_000);
    expect(text.indexOf("event: reset")).toBeLessThan(text.lastIndexOf("event: skipped"));
  }, 120_000);

  it("can be followed from the same process, from the beginning or from now on", async () => {
    await record("Ordered");
    await server.sender.idle();
    const all: string[] = [];
    const later: string[] = [];
    const stop = server.subscribe(({ event }) => all.push(event), "start");
    server.subscribe(({ event }) => later.push(event));
    expect([all, later]).toEqual([["accepted", "attempt", "delivered"], []]);
    await record("");
    stop();
    await record("");
    expect([all, later]).toEqual([
      ["accepted", "attempt", "delivered", "rejected"],
      ["rejected", "rejected"],
    ]);
  });

  it("is not disturbed by a listener that throws, or that causes events itself", async () => {
    const heard: string[] = [];
    server.subscribe(() => {
      throw new Error("of the listener");
    });
    server.subscribe(({ event }) => heard.push(event));
    await record("");
    await record("Ordered");
    await server.sender.idle();
    expect(heard).toEqual(["rejected", "accepted", "attempt", "delivered"]);
    expect(errors.map(String)).toEqual(Array(4).fill("Error: of the listener"));
  });

  it("tells of injected faults, of each strike, and when they are used up", async () => {
    const reader = await readEvents(server.url);
    const body = { fault: "bad_signature", times: 2 };
    await send(`${server.url}/api/faults`, { method: "POST", body });
    for (const event of ["One", "Two"]) {
      await record(event);
      await server.sender.idle();
    }
    for (const fault of ["reset", "rate_limit"]) {
      const { id } = (await send(`${server.url}/api/faults`, { method: "POST", body: { fault } })).json() as {
        id: number;
      };
      await send(`${server.url}/api/faults/${id}`, { method: "DELETE" });
    }
    const told = (): unknown[] =>
      reader.events().flatMap(({ event, change, fault }) => {
        return event === "fault" ? [[change, (fault as { remaining: unknown }).remaining]] : [];
      });
    await vi.waitFor(() =>
      expect(told()).toEqual([
        ["injected", 2],
        ["struck", 1],
        ["used_up", 0],
        ["injected", 1],
        ["cancelled", 0],
        ["injected", 1],
        ["cancelled", 0],
      ]),
    );
  });

  it("forgets a reader that has left", async () => {
    const log = new EventLog<LiveEventBody>();
    const unsubscribed = vi.fn<() => void>();
    vi.spyOn(log, "onAdded").mockReturnValue(unsubscribed);
    const streams = new EventStreams(log, Date.now);
    const app = Fastify();
    app.get("/", (request, reply) => streams.open(request, reply));
    const url = await app.listen({ port: 0, host: "127.0.0.1" });
    cleanUp(() => app.close());
    const controller = new AbortController();
    await fetch(url, { signal: controller.signal });
    expect(unsubscribed).not.toHaveBeenCalled();
    controller.abort();
    await vi.waitFor(() => expect(unsubscribed).toHaveBeenCalledTimes(1));
  });

  /** Asks for all paths at once on one connection. */
  function pipeline(url: string, paths: readonly string[]): Socket {
    const socket = connect(Number(new URL(url).port), "127.0.0.1");
    cleanUp(() => socket.destroy());
    socket.write(paths.map((path) => `GET ${path} HTTP/1.1\r\nHost: localhost\r\n\r\n`).join(""));
    return socket;
  }

  it("is followed only by who can be told: one behind another on its connection waits for it, and goes with it", async () => {
    const log = new EventLog<LiveEventBody>();
    let followed = 0;
    vi.spyOn(log, "onAdded").mockImplementation(() => {
      followed += 1;
      return () => (followed -= 1);
    });
    const streams = new EventStreams(log, Date.now);
    const app = Fastify();
    app.get("/events", (request, reply) => streams.open(request, reply));
    const heard = vi.fn<() => string>().mockReturnValue("heard");
    app.get("/last", heard);
    const url = await app.listen({ port: 0, host: "127.0.0.1" });
    cleanUp(() => app.close());
    const pipelined = pipeline(url, [...Array<string>(10).fill("/events"), "/last"]);
    await vi.waitFor(() => expect(heard).toHaveBeenCalledOnce());
    expect(followed).toBe(1);
    pipelined.destroy();
    await vi.waitFor(() => expect(followed).toBe(0));
  });

  it("ends when the server closes, also one behind another on its connection", async () => {
    const pipelined = pipeline(server.url, ["/api/events", "/api/events"]);
    let text = "";
    pipelined.on("data", (data: Buffer) => (text += data.toString()));
    const ended = once(pipelined, "close");
    await vi.waitFor(() => expect(text).toContain("event: hello"));
    await server.close({ deadlineMs: 60_000 });
    await ended;
  });

  it("ends when the server closes", async () => {
    const reader = await readEvents(server.url);
    // Long enough for the test to fail if the stream held the server open until then.
    await server.close({ deadlineMs: 60_000 });
    await reader.ended;
    expect(reader.names()).toEqual(["hello"]);
  });
});
