import type { Dropped, Undelivered, WhenFull } from "@countersign/client";
import { describe, expect, it } from "vitest";
import { createBench } from "./support/bench.ts";

const USER_ID = "u1";

/** A service that does not answer, and a queue of five whose first message is on its way. */
function createFull(whenFull: WhenFull, options: object = {}) {
  const dropped: Undelivered<Dropped>[] = [];
  const bench = createBench({
    flushAt: 1,
    maxInFlight: 1,
    maxQueueSize: 5,
    whenFull,
    requestTimeout: 60_000,
    onDrop: (undelivered) => dropped.push(undelivered),
    ...options,
  });
  bench.service.reply("hang");
  const record = (n: number) =>
    bench.analytics.track({ userId: USER_ID, event: `E${n}`, messageId: `m${n}` });
  return { ...bench, record, dropped, ids: () => dropped.map(({ messageId }) => messageId) };
}

describe("a full queue", () => {
  it("drop-newest drops the call that found no room", async () => {
    const { analytics, clock, record, ids } = createFull("drop-newest");
    const receipts = [];
    for (let n = 0; n < 7; n += 1) receipts.push(record(n));
    await clock.advance(0);
    expect(ids()).toEqual(["m5", "m6"]);
    expect(await receipts[6]).toMatchObject({ status: "dropped", reason: "queue-full", mayBeStored: false });
    expect(await receipts[6]?.accepted).toBe(false);
    expect(await receipts[4]?.accepted).toBe(true);
    expect(analytics.counts).toEqual({ delivered: 0, failed: 0, dropped: 2, pending: 5 });
  });

  it("drop-oldest drops the oldest that is not on its way", async () => {
    const { clock, record, ids } = createFull("drop-oldest");
    record(0);
    await clock.advance(0);
    for (let n = 1; n < 8; n += 1) record(n);
    expect(ids()).toEqual(["m1", "m2", "m3"]);
  });

  it("drop-oldest drops the newest if all the room is taken by what is on its way", async () => {
    const { clock, record, ids } = createFull("drop-oldest", { maxQueueSize: 1 });
    record(0);
    await clock.advance(0);
    record(1);
    expect(ids()).toEqual(["m1"]);
  });

  it("drop-oldest drops no older call for one that would not fit beside what is on its way", async () => {
    const { analytics, clock, ids } = createFull("drop-oldest", { maxQueueBytes: 40_000 });
    const record = (messageId: string, length: number): void => {
      analytics.identify({ userId: USER_ID, messageId, traits: { bio: "x".repeat(length) } });
    };
    record("on its way", 30_000);
    await clock.advance(0);
    record("small", 10);
    record("large", 20_000);
    expect(ids()).toEqual(["large"]);
  });

  it("drop-oldest makes room by bytes", async () => {
    const { analytics, clock, ids } = createFull("drop-oldest", {
      maxQueueBytes: 70_000,
      maxQueueSize: 1_000,
    });
    const record = (n: number, length: number) => {
      analytics.identify({ userId: USER_ID, messageId: `m${n}`, traits: { bio: String(n).repeat(length) } });
    };
    record(0, 10_000);
    await clock.advance(0);
    for (let n = 1; n < 6; n += 1) record(n, 10_000);
    expect(ids()).toEqual([]);
    record(6, 30_000);
    expect(ids()).toEqual(["m1", "m2", "m3"]);
  });

  it("wait keeps the call in line, says when it was taken, and sends all of them", async () => {
    const { analytics, service, clock, record, ids } = createFull("wait");
    const receipts = [];
    for (let n = 0; n < 8; n += 1) receipts.push(record(n));
    let accepted = false;
    void receipts[7]?.accepted.then((value) => (accepted = value));
    await clock.advance(59_000);
    expect(accepted).toBe(false);
    expect(analytics.counts.pending).toBe(8);
    // The hung request times out, is retried, and everything flows.
    await clock.advance(10_000);
    expect(accepted).toBe(true);
    expect(service.messages.map((message) => message.messageId)).toEqual(
      receipts.map((each) => each.messageId),
    );
    expect(ids()).toEqual([]);
  });

  it("wait bounds its line as well: callers that do not wait are dropped, not kept", () => {
    const { record, ids } = createFull("wait");
    for (let n = 0; n < 12; n += 1) record(n);
    expect(ids()).toEqual(["m10", "m11"]);
  });

  it("wait lets awaiting callers record any number", async () => {
    const { analytics, service } = createBench({
      whenFull: "wait",
      maxQueueSize: 3,
      flushAt: 2,
      maxQueueBytes: 66_000,
    });
    const properties = { bio: "x".repeat(30_000) };
    for (let n = 0; n < 100; n += 1) {
      const receipt = analytics.track({ userId: USER_ID, event: "E", properties });
      expect(await receipt.accepted).toBe(true);
    }
    await analytics.close();
    service.assertCount(100);
  });

  it("wait lets no small call overtake a large one that waits", async () => {
    const { analytics, service, clock } = createFull("wait", { maxQueueBytes: 66_000 });
    const record = (messageId: string, length: number): void => {
      analytics.identify({ userId: USER_ID, messageId, traits: { bio: "x".repeat(length) } });
    };
    record("first", 30_000);
    await clock.advance(0);
    record("second", 30_000);
    record("large", 30_000);
    record("small", 0);
    await clock.advance(120_000);
    const order = ["first", "second", "large", "small"];
    expect(service.messages.map((message) => message.messageId)).toEqual(order);
  });

  it("has all its room again, and its line too, when everything was dropped because an injected function threw", async () => {
    let isBroken = true;
    const { analytics, service, clock } = createFull("wait", {
      maxQueueSize: 100,
      maxQueueBytes: 70_000,
      ids: () => {
        if (isBroken) throw new Error("no ids");
        return "batch";
      },
    });
    service.replyAlways("hang");
    const fill = async () => {
      const receipts = Array.from({ length: 5 }, (_, n) =>
        analytics.identify({ userId: USER_ID, messageId: `m${n}`, traits: { bio: "x".repeat(30_000) } }),
      );
      let accepted = 0;
      for (const receipt of receipts) void receipt.accepted.then((is) => (accepted += is ? 1 : 0));
      await clock.advance(0);
      const full = receipts.filter(
        ({ outcome }) => outcome && "reason" in outcome && outcome.reason === "queue-full",
      );
      return { accepted, full: full.length };
    };
    const first = await fill();
    expect(analytics.counts).toMatchObject({ dropped: 5, pending: 0 });
    isBroken = false;
    expect(first).toEqual({ accepted: 2, full: 1 });
    expect(await fill()).toEqual(first);
  });

  it("is flushed without waiting for the interval", async () => {
    const { analytics, service, clock } = createBench({ maxQueueSize: 3 });
    for (let n = 0; n < 4; n += 1) analytics.track({ userId: USER_ID, event: "E" });
    await clock.advance(0);
    expect(service.messages).toHaveLength(3);
  });
});

it("onDrop gets the message as it would have been sent", () => {
  const { record, dropped } = createFull("drop-newest");
  for (let n = 0; n < 6; n += 1) record(n);
  expect(dropped[0]).toMatchObject({ messageId: "m5", type: "track", outcome: { reason: "queue-full" } });
  expect(JSON.parse(dropped[0]?.json ?? "")).toMatchObject({ userId: USER_ID, event: "E5", messageId: "m5" });
});

it("what a hook gets for a queued message can be copied and logged whole, whatever its id", async () => {
  const copies: unknown[] = [];
  const { analytics, service } = createBench({ onReject: (undelivered) => copies.push({ ...undelivered }) });
  service.replyAlways({ status: 401 });
  const messageId = 'a "quoted" \\ id, "type":"page"';
  analytics.track({ userId: USER_ID, event: "E", messageId });
  await analytics.flush();
  const json = expect.stringContaining('"event":"E"') as string;
  expect(copies).toEqual([
    { messageId, type: "track", json, outcome: expect.objectContaining({ status: "rejected" }) as object },
  ]);
});

it("a hook that throws keeps no other message from its outcome", async () => {
  const lines: string[] = [];
  const { analytics, service } = createBench({
    onReject: () => {
      throw new Error("boom");
    },
    log: (line) => lines.push(line),
  });
  service.replyAlways({ status: 401 });
  for (let n = 0; n < 3; n += 1) analytics.track({ userId: USER_ID, event: "E" });
  expect(await analytics.flush()).toEqual({ delivered: 0, failed: 3, dropped: 0, pending: 0 });
  expect(lines.filter((line) => line === "onReject threw: Error: boom")).toHaveLength(3);
});

it.each(["drop-newest", "drop-oldest", "wait"] as const)(
  "what onDrop records when the queue is full is counted, and leads to no further drop that it is told of: %s",
  async (whenFull) => {
    let [recorded, told] = [0, 0];
    const { analytics, service, clock } = createBench({
      whenFull,
      maxQueueSize: 10,
      onDrop: () => {
        told += 1;
        recorded += 1;
        analytics.track({ userId: USER_ID, event: "Event Dropped" });
      },
    });
    service.replyAlways("hang");
    for (let n = 0; n < 50; n += 1) {
      recorded += 1;
      analytics.track({ userId: USER_ID, event: "E" });
    }
    const closing = analytics.close(0);
    await clock.advance(0);
    const { dropped, ...others } = await closing;
    expect({ ...others, dropped }).toEqual({ delivered: 0, failed: 0, pending: 0, dropped: recorded });
    // Of each other call: of those that it recorded, only of what had been taken in.
    expect(told).toBeGreaterThanOrEqual(50);
    expect(told).toBeLessThanOrEqual(70);
  },
);

it("requests in flight are capped, and what piles up goes out together", async () => {
  const { analytics, service, clock } = createBench({ maxInFlight: 2, flushAt: 2, requestTimeout: 60_000 });
  service.reply("hang", "hang");
  for (let n = 0; n < 10; n += 1) {
    analytics.track({ userId: USER_ID, event: "E" });
    // As long as messages wait for others after the start of a request.
    await clock.advance(50);
  }
  expect(service.requests.map((request) => request.batch.length)).toEqual([2, 2]);
  await clock.advance(61_000);
  // The first again when it timed out, the six that waited together in one, and the second again.
  expect(service.requests.map((request) => request.batch.length)).toEqual([2, 2, 2, 6, 2]);
});

it("messages wait for others after the start of a request, for 50 ms at most, unless they fill a request", async () => {
  const { analytics, service, clock } = createBench({ flushAt: 2, requestTimeout: 60_000 });
  service.replyAlways("hang");
  const record = (count: number): void => {
    for (let n = 0; n < count; n += 1) analytics.track({ userId: USER_ID, event: "E" });
  };
  const sizes = (): number[] => service.requests.map((request) => request.batch.length);
  record(2);
  await clock.advance(0);
  record(2);
  await clock.advance(49);
  record(2);
  expect(sizes()).toEqual([2]);
  await clock.advance(1);
  expect(sizes()).toEqual([2, 4]);
  record(2_500);
  await clock.advance(0);
  expect(sizes()).toEqual([2, 4, 2_500]);
});

it("what is left when a request is full waits for others, too: a request costs as much as some hundred messages", async () => {
  const { analytics, service, clock } = createBench({ flushAt: 2 });
  for (let n = 0; n < 2_502; n += 1) analytics.track({ userId: USER_ID, event: "E" });
  const sizes = (): number[] => service.requests.map((request) => request.batch.length);
  await clock.advance(49);
  expect(sizes()).toEqual([2_500]);
  await clock.advance(1);
  expect(sizes()).toEqual([2_500, 2]);
});

it("messages wait for others also if the service has answered, but not if they are flushed or find no room", async () => {
  const { analytics, service, clock } = createBench({ flushAt: 2, maxQueueSize: 5 });
  const record = async (count: number): Promise<void> => {
    for (let n = 0; n < count; n += 1) analytics.track({ userId: USER_ID, event: "E" });
    await clock.advance(0);
  };
  const sizes = (): number[] => service.requests.map((request) => request.batch.length);
  await record(2);
  await record(2);
  await clock.advance(49);
  expect(sizes()).toEqual([2]);
  await clock.advance(1);
  expect(sizes()).toEqual([2, 2]);
  await record(3);
  await analytics.flush();
  expect(sizes()).toEqual([2, 2, 3]);
  await record(6);
  expect(sizes()).toEqual([2, 2, 3, 5]);
});

it("what ended is sent as it was recorded, in order, however it was packed meanwhile", async () => {
  const { analytics, service, clock } = createBench({ maxInFlight: 1 });
  const texts = [
    "",
    "\u0001",
    '"quoted"',
    String.raw`back\slash`,
    "日本",
    "😀",
    "\ud800",
    "a:b,{[",
    "x".repeat(30_000),
  ];
  const sent = Array.from({ length: 3_000 }, (_, n) => {
    const properties = {
      text: texts[n % texts.length],
      n,
      list: [{ text: `${n}` }, ["text", "text:"]],
      [`k${n}`]: null,
    };
    return { userId: `u${n % 7}`, event: `E${n % 3}`, properties };
  });
  service.reply({ status: 400 }, { status: 500 });
  for (const call of sent) analytics.track(call);
  const closed = analytics.close();
  await clock.advance(60_000);
  expect(await closed).toMatchObject({ delivered: 3_000 });
  const got = service.messages.map(({ userId, event, properties }) => ({ userId, event, properties }));
  expect(got).toEqual(JSON.parse(JSON.stringify(sent)));
});
