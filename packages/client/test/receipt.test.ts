import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import { Analytics } from "@countersign/client";
import { memoryTransport } from "@countersign/client/testing";
import { describe, expect, it, onTestFinished, vi } from "vitest";
import { createBench } from "./support/bench.ts";

const USER_ID = "u1";

describe("a receipt", () => {
  it("has the id under which the service knows the message", async () => {
    const { analytics, service } = createBench();
    const receipts = [
      analytics.track({ userId: USER_ID, event: "E" }),
      analytics.track({ userId: USER_ID, event: "E", messageId: "mine" }),
    ];
    await analytics.flush();
    expect(receipts.map((receipt) => receipt.messageId)).toEqual(
      service.messages.map((each) => each.messageId),
    );
    expect(receipts[1]?.messageId).toBe("mine");
  });

  it("is awaited before and after its end, by many", async () => {
    const { analytics } = createBench();
    const receipt = analytics.track({ userId: USER_ID, event: "E" });
    expect(receipt.outcome).toBeUndefined();
    const early = Promise.all([receipt, receipt.then(({ status }) => status)]);
    await analytics.flush();
    expect(await early).toEqual([{ status: "delivered" }, "delivered"]);
    expect(await receipt).toBe(receipt.outcome);
  });

  it("can be left alone whatever happens: nothing is left unhandled", async () => {
    const unhandled: unknown[] = [];
    const note = (reason: unknown): void => void unhandled.push(reason);
    process.on("unhandledRejection", note);
    const { analytics, service, clock } = createBench({ flushAt: 1, retry: { giveUpAfter: 1_000 } });
    service.reply({ status: 401 }, new Error("reset"), "hang", { status: 500 }, { body: "<html>" });
    for (let n = 0; n < 5; n += 1) analytics.track({ userId: USER_ID, event: "E" });
    const closing = analytics.close(15_000);
    await clock.advance(15_000);
    await closing;
    analytics.track({ userId: USER_ID, event: "late" });
    await new Promise((resolve) => setImmediate(resolve));
    process.off("unhandledRejection", note);
    expect(unhandled).toEqual([]);
  });
});

describe("flush()", () => {
  it("waits for what was recorded before it, not for what comes after", async () => {
    const { analytics, service, clock } = createBench({ flushAt: 1, requestTimeout: 60_000 });
    analytics.track({ userId: USER_ID, event: "before" });
    const flushed = analytics.flush();
    service.reply({}, "hang");
    await clock.advance(0);
    analytics.track({ userId: USER_ID, event: "after" });
    expect(await flushed).toMatchObject({ delivered: 1 });
  });

  it("does not take a later call that ends sooner for one of its own", async () => {
    const { analytics, service, clock } = createBench({ flushAt: 1, requestTimeout: 60_000 });
    service.reply("hang");
    analytics.track({ userId: USER_ID, event: "slow" });
    let flushed = false;
    const flushing = analytics.flush().finally(() => (flushed = true));
    await clock.advance(0);
    const later = analytics.track({ userId: USER_ID, event: "fast" });
    await clock.advance(0);
    expect(later.outcome).toEqual({ status: "delivered" });
    expect(flushed).toBe(false);
    await clock.advance(61_000);
    expect(await flushing).toMatchObject({ delivered: 2, pending: 0 });
  });

  it("that a hook calls waits for the others, and does not count the message that the hook is told of", async () => {
    let flushed: boolean | undefined;
    const { analytics, service, clock } = createBench({
      flushAt: 1,
      requestTimeout: 60_000,
      onReject: () => {
        flushed = false;
        void analytics.flush().finally(() => (flushed = true));
      },
    });
    service.reply("hang", { status: 401 });
    for (const event of ["slow", "rejected"]) analytics.track({ userId: USER_ID, event });
    await clock.advance(0);
    expect(analytics.counts).toMatchObject({ failed: 1, pending: 1 });
    expect(flushed).toBe(false);
    await clock.advance(61_000);
    expect(flushed).toBe(true);
  });

  it("leaves no timer when it returns before its deadline", async () => {
    const { analytics, clock } = createBench();
    analytics.track({ userId: USER_ID, event: "E" });
    expect(await analytics.flush(1_000)).toMatchObject({ delivered: 1 });
    expect(clock.scheduled).toBe(0);
  });

  it("returns at its deadline with what is pending, which goes on", async () => {
    const { analytics, service, clock } = createBench();
    service.reply({ status: 503, headers: { "retry-after": "60" } });
    const receipt = analytics.track({ userId: USER_ID, event: "E" });
    const flushed = analytics.flush(1_000);
    await clock.advance(1_000);
    expect(await flushed).toEqual({ delivered: 0, failed: 0, dropped: 0, pending: 1 });
    await clock.advance(60_000);
    expect(receipt.outcome).toEqual({ status: "delivered" });
  });

  it("leaves nothing behind at its deadline, however often it is called while the service is down", async () => {
    setFlagsFromString("--expose-gc");
    const collectGarbage = runInNewContext("gc") as () => void;
    const { analytics, service, clock } = createBench();
    service.replyAlways("hang");
    analytics.track({ userId: USER_ID, event: "E" });
    const flushAThousandTimes = async (): Promise<void> => {
      const flushed = Array.from({ length: 1_000 }, () => analytics.flush(0));
      await clock.advance(0);
      await Promise.all(flushed);
    };
    const heapUsed = (): number => {
      collectGarbage();
      return process.memoryUsage().heapUsed;
    };
    await flushAThousandTimes();
    const before = heapUsed();
    for (let time = 0; time < 20; time += 1) await flushAThousandTimes();
    // A function that waits takes some hundred bytes.
    expect((heapUsed() - before) / 20_000).toBeLessThan(200);
  });

  it.each([-1, Number.NaN, Infinity, "1000", null, true])("refuses %s as a deadline", async (value) => {
    const { analytics } = createBench();
    const deadline = value as number;
    await expect(analytics.flush(deadline)).rejects.toThrow(TypeError);
    await expect(analytics.close(deadline)).rejects.toThrow(TypeError);
    expect(analytics.track({ userId: USER_ID, event: "E" }).outcome).toBeUndefined();
  });
});

describe("close()", () => {
  it("drains, whatever flushAt and flushAfter say", async () => {
    const { analytics, service } = createBench();
    for (let n = 0; n < 7; n += 1) analytics.track({ userId: USER_ID, event: "E" });
    expect(await analytics.close()).toEqual({ delivered: 7, failed: 0, dropped: 0, pending: 0 });
    expect(service.messages).toHaveLength(7);
  });

  it("drops the rest at its deadline, says so, and aborts what is in flight", async () => {
    const signals: AbortSignal[] = [];
    const { analytics, clock } = createBench({
      flushAt: 1,
      maxInFlight: 1,
      requestTimeout: 60_000,
      transport: { send: ({ signal }) => (signals.push(signal), new Promise<never>(() => {})) },
    });
    const [sent, queued] = [
      analytics.track({ userId: USER_ID, event: "E" }),
      analytics.track({ userId: USER_ID, event: "E" }),
    ];
    await clock.advance(0);
    const closing = analytics.close(1_000);
    await clock.advance(1_000);
    expect(await closing).toEqual({ delivered: 0, failed: 0, dropped: 2, pending: 0 });
    expect(sent.outcome).toMatchObject({ status: "dropped", reason: "deadline", mayBeStored: true });
    expect(queued.outcome).toMatchObject({ status: "dropped", reason: "deadline", mayBeStored: false });
    expect(signals.map((signal) => signal.aborted)).toEqual([true]);
    expect(clock.scheduled).toBe(0);
  });

  it("does not send what it dropped while the body was still being compressed", async () => {
    const timers = new Set<() => void>();
    let zipping = (): void => {};
    let zipped = (): void => {};
    const began = new Promise<void>((resolve) => (zipping = resolve));
    const ended = new Promise<void>((resolve) => (zipped = resolve));
    const clock = {
      now: () => 0,
      schedule(_at: number, task: () => void) {
        timers.add(task);
        return { cancel: () => void timers.delete(task) };
      },
      hold: () => (zipping(), zipped),
    };
    let requests = 0;
    // One that does not heed its signal.
    const transport = { send: () => ((requests += 1), new Promise<never>(() => {})) };
    const { analytics } = createBench({ clock, transport, gzip: true, flushAt: 1 });
    const receipt = analytics.track({ userId: USER_ID, event: "E" });
    await began;
    const before = new Set(timers);
    const closing = analytics.close(0);
    for (const due of [...timers].filter((task) => !before.has(task))) due();
    expect(await closing).toMatchObject({ dropped: 1, pending: 0 });
    await ended;
    await new Promise((resolve) => setImmediate(resolve));
    expect(receipt.outcome).toMatchObject({ status: "dropped", reason: "deadline" });
    expect(requests).toBe(0);
  });

  it("drops what waits in line as well", async () => {
    const { analytics, service, clock } = createBench({ flushAt: 1, maxQueueSize: 2, whenFull: "wait" });
    service.replyAlways({ status: 500 });
    const receipts = [1, 2, 3, 4].map(() => analytics.track({ userId: USER_ID, event: "E" }));
    const closing = analytics.close(1_000);
    await clock.advance(1_000);
    expect(await closing).toMatchObject({ dropped: 4, pending: 0 });
    expect(await receipts[3]?.accepted).toBe(false);
  });

  it("is idempotent, and a later deadline still counts", async () => {
    const { analytics, service, clock } = createBench();
    service.replyAlways({ status: 500 });
    analytics.track({ userId: USER_ID, event: "E" });
    const all = [analytics.close(), analytics.close(), analytics.close(2_000)];
    await clock.advance(2_000);
    const expected = { delivered: 0, failed: 0, dropped: 1, pending: 0 };
    expect(await Promise.all(all)).toEqual([expected, expected, expected]);
    expect(await analytics.close()).toEqual(expected);
  });

  it("drops and counts the calls after it, without an exception", async () => {
    const { analytics, service } = createBench();
    await analytics.close();
    const receipt = analytics.track({ userId: USER_ID, event: "late" });
    expect(receipt.outcome).toMatchObject({ status: "dropped", reason: "closed", mayBeStored: false });
    expect(analytics.counts).toEqual({ delivered: 0, failed: 0, dropped: 1, pending: 0 });
    expect(service.requests).toHaveLength(0);
  });

  it("is what `await using` does", async () => {
    const service = memoryTransport();
    const analytics = new Analytics("KEY", { transport: service });
    analytics.track({ userId: USER_ID, event: "E" });
    await analytics[Symbol.asyncDispose]();
    service.assertCount(1);
    expect(analytics.track({ userId: USER_ID, event: "late" }).outcome).toMatchObject({ reason: "closed" });
  });
});

it("something injected that throws is an outcome, not a crash", async () => {
  let broken = false;
  const ids = (): string => {
    if (broken) throw new Error("no ids");
    return "id";
  };
  const { analytics, clock } = createBench({ ids, maxQueueSize: 1, whenFull: "wait" });
  const receipt = analytics.track({ userId: USER_ID, event: "E" });
  const waiting = analytics.track({ userId: USER_ID, event: "E", properties: { bio: "x".repeat(20_000) } });
  broken = true;
  const flushed = analytics.flush();
  await clock.advance(0);
  expect(await flushed).toMatchObject({ dropped: 2 });
  expect(waiting.outcome).toMatchObject({ reason: "internal-error" });
  expect(receipt.outcome).toMatchObject({
    reason: "internal-error",
    detail: expect.stringContaining("no ids"),
  });

  // The room they took is free again, and the client goes on.
  broken = false;
  const next = analytics.track({ userId: USER_ID, event: "E" });
  expect(await next.accepted).toBe(true);
  expect(await analytics.flush()).toMatchObject({ delivered: 1 });
});

it.each<[string, () => unknown]>([
  ["throw", boom],
  ["are async and throw", async () => boom()],
  // As where a program has replaced `Promise`, as zone.js does: it is no instance of it.
  ["return a promise of another kind that rejects", () => runInNewContext("Promise.reject(new Error())")],
])("a log and hooks that %s change no outcome, and nothing rejects unhandled", async (_, fail) => {
  const unhandled = vi.fn<(reason: unknown) => void>();
  process.on("unhandledRejection", unhandled);
  onTestFinished(() => void process.off("unhandledRejection", unhandled));
  const { analytics, service } = createBench({
    log: fail,
    onDrop: fail,
    onReject: fail,
    maxQueueSize: 1,
  });
  const delivered = analytics.track({ userId: USER_ID, event: "E" });
  const dropped = analytics.track({ userId: USER_ID, event: "E" });
  await analytics.flush();
  service.replyAlways({ status: 401 });
  const rejected = analytics.track({ userId: USER_ID, event: "E" });
  await analytics.flush();
  // Rejections are told of when the turn of the event loop is over.
  await new Promise((resolve) => setImmediate(resolve));
  expect([delivered, dropped, rejected].map(({ outcome }) => outcome?.status)).toEqual([
    "delivered",
    "dropped",
    "rejected",
  ]);
  expect(unhandled).not.toHaveBeenCalled();
});

it("a place for a request is free again when a hook and the log throw for what was dropped", async () => {
  const { analytics, service, clock } = createBench({ log: boom, onDrop: boom, maxInFlight: 1, flushAt: 1 });
  for (const event of ["first", "second"]) {
    analytics.track({ userId: USER_ID, event });
    await clock.advance(100);
  }
  expect(service.messages).toHaveLength(2);
});

function boom(): never {
  throw new Error("boom");
}
