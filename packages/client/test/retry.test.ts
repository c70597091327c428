import { Analytics, type Outcome } from "@countersign/client";
import { memoryTransport, type Reply, type SentBatch } from "@countersign/client/testing";
import { describe, expect, it, onTestFinished, vi } from "vitest";
import { createBench } from "./support/bench.ts";

const USER_ID = "u1";
const start = Date.UTC(2026, 0, 1);

describe("retries", () => {
  it("double their delay up to a cap, and end with an attempt at the end of giveUpAfter", async () => {
    const at: number[] = [];
    const { analytics, service, clock } = createBench({
      flushAt: 1,
      retry: { giveUpAfter: 20_000, maxDelay: 4_000 },
    });
    service.replyAlways(() => {
      at.push(clock.now() - start);
      return { status: 500 };
    });
    const receipt = analytics.track({ userId: USER_ID, event: "E" });
    await clock.advance(60_000);
    expect(at).toEqual([0, 1_000, 3_000, 7_000, 11_000, 15_000, 19_000, 20_000]);
    expect(receipt.outcome).toMatchObject({
      status: "dropped",
      reason: "retries-exhausted",
      mayBeStored: true,
    });
    expect(receipt.outcome).toHaveProperty(
      "detail",
      expect.stringMatching(/^Gave up after 8 attempts.*giveUpAfter \(20000 ms\).*answered 500/),
    );
  });

  it("are jittered: each delay is random between minDelay and a bound that doubles", async () => {
    const random = [0.5, 0.25, 0, 0.9][Symbol.iterator]();
    const at: number[] = [];
    const { analytics, service, clock } = createBench({ flushAt: 1, random: () => random.next().value ?? 0 });
    const fail = (): Reply => {
      at.push(clock.now() - start);
      return { status: 502 };
    };
    service.reply(fail, fail, fail, fail, () => (at.push(clock.now() - start), {}));
    analytics.track({ userId: USER_ID, event: "E" });
    await clock.advance(60_000);
    expect(at).toEqual([0, 750, 1_625, 2_125, 9_375]);
  });

  it("go on for an hour by default", async () => {
    const { analytics, service, clock } = createBench({ flushAt: 1 });
    service.replyAlways({ status: 500 });
    const receipt = analytics.track({ userId: USER_ID, event: "E" });
    await clock.advance(3_599_999);
    expect(receipt.outcome).toBeUndefined();
    await clock.advance(1);
    expect(receipt.outcome).toMatchObject({ reason: "retries-exhausted" });
  });

  it("are not made when giveUpAfter is 0", async () => {
    const { analytics, service, clock } = createBench({ flushAt: 1, retry: { giveUpAfter: 0 } });
    service.replyAlways({ status: 429, headers: { "retry-after": "1" } });
    const receipt = analytics.track({ userId: USER_ID, event: "E" });
    await clock.advance(0);
    expect(receipt.outcome).toMatchObject({ reason: "retries-exhausted" });
    expect(service.requests).toHaveLength(1);
  });

  it("say how many went before, and the parts of a split batch begin anew", async () => {
    const { analytics, service, clock } = createBench({ flushAt: 2, headers: { "x-retry-count": "9" } });
    service.reply({ status: 500 }, { status: 429 }, { status: 400 });
    for (let n = 0; n < 2; n += 1) analytics.track({ userId: USER_ID, event: "E" });
    await clock.advance(60_000);
    const counts = service.requests.map(({ headers }) => headers["X-Retry-Count"]);
    expect(counts).toEqual([undefined, "1", "2", undefined, undefined]);
    expect(service.requests[0]?.headers).not.toHaveProperty("x-retry-count");
  });

  it.each<[string, Reply]>([
    ["408", { status: 408 }],
    ["429", { status: 429 }],
    ["500", { status: 500 }],
    ["502", { status: 502 }],
    ["503", { status: 503 }],
    ["504", { status: 504 }],
    ["a network error", new Error("socket hang up")],
    ["a time-out", "hang"],
    ["a web page with status 200", { body: "<!doctype html><title>Wi-Fi</title>" }],
    ["a web page that begins with a line feed", { body: "\n<!doctype html><title>Wi-Fi</title>" }],
  ])("follow %s", async (_, reply) => {
    const { analytics, service, clock } = createBench({ flushAt: 1 });
    service.reply(reply);
    const receipt = analytics.track({ userId: USER_ID, event: "E" });
    await clock.advance(30_000);
    expect(service.requests).toHaveLength(2);
    expect(receipt.outcome).toEqual({ status: "delivered" });
  });

  it.each([
    [301, "redirected"],
    // As a browser answers with `redirect: "manual"`.
    [0, "redirected"],
    [400, "bad-request"],
    [401, "unauthorized"],
    [403, "unauthorized"],
    [404, "refused"],
    [413, "too-large"],
    [422, "refused"],
  ])("do not follow %i", async (status, reason) => {
    const { analytics, service, clock } = createBench({ flushAt: 1 });
    service.reply({ status, headers: { location: "https://elsewhere.example/" } });
    const receipt = analytics.track({ userId: USER_ID, event: "E" });
    await clock.advance(600_000);
    expect(service.requests).toHaveLength(1);
    expect(receipt.outcome).toMatchObject({
      status: "rejected",
      reason,
      statusCode: status,
      mayBeStored: false,
    });
  });

  it("send the same messages and batch id again, and a new sentAt", async () => {
    const { analytics, service, clock } = createBench({ flushAt: 1 });
    service.reply({ status: 500 });
    analytics.track({ userId: USER_ID, event: "E" });
    await clock.advance(1_000);
    const [first, second] = service.requests;
    expect(second).toEqual({
      ...first,
      headers: { ...first?.headers, "X-Retry-Count": "1" },
      sentAt: "2026-01-01T00:00:01.000Z",
    });
  });

  it("do not follow a 200 that says it failed", async () => {
    const { analytics, service, clock } = createBench({ flushAt: 1 });
    service.reply({ body: '{"success":false,"code":"no"}', stored: false });
    const receipt = analytics.track({ userId: USER_ID, event: "E" });
    await clock.advance(600_000);
    expect(receipt.outcome).toMatchObject({ status: "rejected", reason: "refused" });
  });
});

describe("Retry-After", () => {
  it.each<[string, Record<string, string>, number]>([
    ["seconds", { "retry-after": "7" }, 7_000],
    ["zero is no reason to hurry", { "retry-after": "0" }, 1_000],
    ["a date", { "retry-after": "Thu, 01 Jan 2026 00:00:42 GMT" }, 42_000],
    [
      "a date that has passed is no reason to hurry",
      { "retry-after": "Wed, 31 Dec 2025 23:00:00 GMT" },
      1_000,
    ],
    [
      "a date by the service's own clock",
      { "retry-after": "Fri, 02 Jan 2026 00:00:09 GMT", date: "Fri, 02 Jan 2026 00:00:00 GMT" },
      9_000,
    ],
    ["a day is capped", { "retry-after": "86400" }, 300_000],
    ["garbage is ignored", { "retry-after": "soon" }, 1_000],
    ["a negative number is ignored", { "retry-after": "-1" }, 1_000],
    ["an empty one is ignored", { "retry-after": "" }, 1_000],
  ])("%s", async (_, headers, expected) => {
    for (const status of [408, 429, 500, 503]) {
      const { analytics, service, clock } = createBench({ flushAt: 1 });
      let second = 0;
      service.reply({ status, headers }, () => ((second = clock.now()), {}));
      analytics.track({ userId: USER_ID, event: "E" });
      await clock.advance(600_000);
      expect(second - start).toBe(expected);
    }
  });

  it("of 0 for ever costs as few requests as no Retry-After", async () => {
    const requests = async (headers: Record<string, string>): Promise<number> => {
      const { analytics, service, clock } = createBench({ flushAt: 1, random: () => 0 });
      service.replyAlways({ status: 429, headers });
      analytics.track({ userId: USER_ID, event: "E" });
      await clock.advance(60_000);
      return service.requests.length;
    };
    expect(await requests({ "retry-after": "0" })).toBe(121);
    expect(await requests({})).toBe(121);
  });

  it("makes a delay longer and never shorter", async () => {
    const at: number[] = [];
    const { analytics, service, clock } = createBench({ flushAt: 1 });
    const fail = (): Reply => (
      at.push(clock.now() - start),
      { status: 503, headers: { "retry-after": "3" } }
    );
    service.reply(fail, fail, fail, fail, () => (at.push(clock.now() - start), {}));
    analytics.track({ userId: USER_ID, event: "E" });
    await clock.advance(60_000);
    // The client's own delays are 1, 2, 4 and 8 s.
    expect(at).toEqual([0, 3_000, 6_000, 10_000, 18_000]);
  });

  it("of a 429 does not use giveUpAfter up, and that of a 503 does", async () => {
    const outcomeAfter = async (status: number): Promise<Outcome | undefined> => {
      const { analytics, service, clock } = createBench({ flushAt: 1, retry: { giveUpAfter: 5_000 } });
      service.reply(...Array.from({ length: 20 }, () => ({ status, headers: { "retry-after": "60" } })));
      const receipt = analytics.track({ userId: USER_ID, event: "E" });
      await clock.advance(20 * 60_000);
      return receipt.outcome;
    };
    expect(await outcomeAfter(429)).toEqual({ status: "delivered" });
    expect(await outcomeAfter(503)).toMatchObject({ reason: "retries-exhausted" });
  });

  it("does not make later delays longer when it came with a 429", async () => {
    const at: number[] = [];
    const { analytics, service, clock } = createBench({ flushAt: 1 });
    service.reply(...Array.from({ length: 8 }, () => ({ status: 429, headers: { "retry-after": "2" } })));
    service.reply({ status: 500 });
    service.replyAlways(() => (at.push(clock.now() - start), {}));
    analytics.track({ userId: USER_ID, event: "E" });
    await clock.advance(60_000);
    expect(at).toEqual([8 * 2_000 + 1_000]);
  });

  it.each([429, 503])("after %i every batch waits", async (status) => {
    const at: number[] = [];
    const { analytics, service, clock } = createBench({ flushAt: 1 });
    const note = (reply: Reply) => (): Reply => (at.push(clock.now() - start), reply);
    service.reply(note({ status, headers: { "retry-after": "10" } }));
    service.replyAlways(note({}));
    analytics.track({ userId: USER_ID, event: "E" });
    await clock.advance(1_000);
    for (let n = 0; n < 5; n += 1) analytics.track({ userId: USER_ID, event: "E" });
    await clock.advance(8_999);
    expect(at).toEqual([0]);
    await clock.advance(1);
    expect(at).toEqual([0, ...Array.from({ length: 6 }, () => 10_000)]);
  });

  it("the longest pause holds", async () => {
    const at: number[] = [];
    const { analytics, service, clock } = createBench({ flushAt: 1 });
    service.reply(
      { status: 429, headers: { "retry-after": "10" } },
      { status: 429, headers: { "retry-after": "2" } },
    );
    service.replyAlways(() => (at.push(clock.now() - start), {}));
    for (let n = 0; n < 2; n += 1) analytics.track({ userId: USER_ID, event: "E" });
    await clock.advance(60_000);
    expect(at).toEqual([10_000, 10_000]);
  });

  it("uses giveUpAfter up of no batch that only waited for it: that counts from the first attempt", async () => {
    const { analytics, service, clock } = createBench({ flushAt: 1, retry: { giveUpAfter: 5_000 } });
    service.reply({ status: 503, headers: { "retry-after": "60" } }, { status: 500 }, { status: 500 });
    analytics.track({ userId: USER_ID, event: "First" });
    await clock.advance(1_000);
    const waited = analytics.track({ userId: USER_ID, event: "Waited" });
    await clock.advance(120_000);
    expect(waited.outcome).toEqual({ status: "delivered" });
    expect(analytics.counts).toMatchObject({ delivered: 1, dropped: 1 });
  });

  it("after 500 the other batches go on", async () => {
    const { analytics, service, clock } = createBench({ flushAt: 1 });
    service.reply({ status: 500, headers: { "retry-after": "10" } });
    analytics.track({ userId: USER_ID, event: "slow" });
    await clock.advance(1_000);
    analytics.track({ userId: USER_ID, event: "fast" });
    await clock.advance(0);
    expect(service.messages.map((message) => message.event)).toEqual(["fast"]);
  });
});

describe("a batch that is refused", () => {
  const bad = new Set(["m3", "m11"]);
  const picky = ({ batch }: SentBatch): Reply =>
    batch.some(({ messageId }) => bad.has(messageId)) ? { status: 400 } : {};

  it("is bisected, so that only the bad messages are rejected", async () => {
    const { analytics, service } = createBench();
    service.replyAlways(picky);
    const receipts = Array.from({ length: 16 }, (_, n) =>
      analytics.track({ userId: USER_ID, event: "E", messageId: `m${n}` }),
    );
    expect(await analytics.flush()).toEqual({ delivered: 14, failed: 2, dropped: 0, pending: 0 });
    const rejected = receipts.filter((receipt) => receipt.outcome?.status === "rejected");
    expect(rejected.map((receipt) => receipt.messageId)).toEqual(["m3", "m11"]);
    // Two descents of log2(16), and no more.
    expect(service.requests.length).toBeLessThanOrEqual(1 + 2 * 2 * 4);
    expect(new Set(service.requests.map((request) => request.messageId)).size).toBe(service.requests.length);
  });

  it("as too large is bisected until it fits", async () => {
    const { analytics, service } = createBench();
    service.replyAlways(({ bytes }) => (bytes > 1_000 ? { status: 413 } : {}));
    for (let n = 0; n < 15; n += 1) analytics.track({ userId: USER_ID, event: "E", properties: { n } });
    expect(await analytics.flush()).toMatchObject({ delivered: 15, failed: 0 });
  });

  it("keeps retrying the halves that fail for a while", async () => {
    const { analytics, service, clock } = createBench();
    let n = 0;
    service.replyAlways((batch) => ((n += 1) % 2 === 0 ? { status: 500 } : picky(batch)));
    for (let n = 0; n < 16; n += 1) analytics.track({ userId: USER_ID, event: "E", messageId: `m${n}` });
    const flushed = analytics.flush();
    await clock.advance(600_000);
    expect(await flushed).toEqual({ delivered: 14, failed: 2, dropped: 0, pending: 0 });
  });

  it("is dropped if its halves get no id, and none of its messages stays without an outcome", async () => {
    let broken = false;
    const ids = (): string => {
      if (broken) throw new Error("no ids");
      return crypto.randomUUID();
    };
    const { analytics, service } = createBench({ ids });
    service.replyAlways(() => ((broken = true), { status: 400 }));
    const receipts = [1, 2].map(() => analytics.track({ userId: USER_ID, event: "E" }));
    expect(await analytics.flush(60_000)).toEqual({ delivered: 0, failed: 0, dropped: 2, pending: 0 });
    for (const { outcome } of receipts) expect(outcome).toMatchObject({ reason: "internal-error" });
  });

  it("for the write key is not bisected", async () => {
    const { analytics, service } = createBench();
    service.replyAlways({ status: 401 });
    for (let n = 0; n < 8; n += 1) analytics.track({ userId: USER_ID, event: "E" });
    expect(await analytics.flush()).toMatchObject({ failed: 8 });
    expect(service.requests).toHaveLength(1);
  });
});

async function outcomeOf(...replies: Reply[]): Promise<Outcome | undefined> {
  const { analytics, service, clock } = createBench({ flushAt: 1, retry: { giveUpAfter: 1_000 } });
  service.reply(...replies);
  const receipt = analytics.track({ userId: USER_ID, event: "E" });
  await clock.advance(600_000);
  return receipt.outcome;
}

describe("mayBeStored", () => {
  const failing = (code: string): Error => Object.assign(new Error("connect"), { code });
  const refused = failing("ECONNREFUSED");

  it.each<[string, Reply[], boolean]>([
    ["no connection came about", [refused, refused], false],
    ["the name was not found", [failing("ENOTFOUND"), failing("EAI_AGAIN")], false],
    ["no connection came about in time", [failing("UND_ERR_CONNECT_TIMEOUT"), refused], false],
    ["the connection ended before an answer", [failing("ECONNRESET"), refused], true],
    ["both attempts were turned away", [{ status: 429 }, { status: 408 }], false],
    ["the last was turned away, but the first got lost", [new Error("reset"), { status: 429 }], true],
    ["the first got lost, and the retry was rejected", [new Error("reset"), { status: 401 }], true],
    ["nothing came in time", ["hang", refused], true],
    ["a proxy answered", [{ status: 502 }, refused], true],
  ])("%s: %j", async (_, replies, mayBeStored) => {
    expect(await outcomeOf(...replies)).toMatchObject({ mayBeStored });
  });

  it("the halves of a bisected batch remember that the whole of it got lost", async () => {
    const { analytics, service, clock } = createBench();
    service.reply({ status: 502 }, { status: 400 });
    service.replyAlways({ status: 401 });
    const receipts = [1, 2].map(() => analytics.track({ userId: USER_ID, event: "E" }));
    const flushed = analytics.flush();
    await clock.advance(10_000);
    expect(await flushed).toMatchObject({ failed: 2 });
    for (const receipt of receipts) {
      expect(receipt.outcome).toMatchObject({ reason: "unauthorized", mayBeStored: true });
    }
  });

  it("the reason of an error without a message is its code: some of Node have none", async () => {
    const nameless = Object.assign(new Error(""), { code: "ETIMEDOUT" });
    expect(await outcomeOf(nameless, nameless)).toHaveProperty(
      "detail",
      expect.stringContaining("did not answer: ETIMEDOUT"),
    );
  });

  it("the reason says little of a long answer, and shows no write key of an error", async () => {
    const long = { status: 400, body: "x".repeat(100_000) };
    expect(await outcomeOf(long)).toHaveProperty("detail", expect.stringMatching(/^.{1,400}$/u));
    const telling = new Error("refused by proxy for WRITE_KEY");
    expect(await outcomeOf(telling, telling)).toHaveProperty(
      "detail",
      expect.not.stringContaining("WRITE_KEY"),
    );
  });

  it("an error of fetch is read through its causes", async () => {
    const failed = new TypeError("fetch failed", { cause: refused });
    expect(await outcomeOf(failed, failed)).toMatchObject({
      mayBeStored: false,
      detail: expect.stringContaining("connect"),
    });
  });
});

function createOnMachine(): { service: ReturnType<typeof memoryTransport>; analytics: Analytics } {
  // Setting the faked Date leaves the faked timers and performance.now() alone, as setting a machine's clock does.
  vi.useFakeTimers({ toFake: ["Date", "performance", "setTimeout", "clearTimeout"] });
  onTestFinished(() => void vi.useRealTimers());
  const service = memoryTransport();
  return { service, analytics: new Analytics("K", { transport: service, flushAt: 1, random: () => 1 }) };
}

describe("a machine that slept for two hours", () => {
  const sleep = (): void => void vi.setSystemTime(Date.now() + 7_200_000);

  it("has not tried in vain for so long: what failed once, or waits for a retry, is tried again", async () => {
    const { service, analytics } = createOnMachine();
    service.reply(() => {
      sleep();
      return new Error("other side closed");
    }, new Error("connection refused"));
    const receipt = analytics.track({ userId: USER_ID, event: "E" });
    await vi.advanceTimersByTimeAsync(0);
    expect(receipt.outcome).toBeUndefined();
    await vi.advanceTimersByTimeAsync(1_000);
    expect(service.requests).toHaveLength(2);
    sleep();
    await vi.advanceTimersByTimeAsync(2_000);
    expect(receipt.outcome).toEqual({ status: "delivered" });
  });
});

describe("a machine's clock that is set back an hour", () => {
  const setBack = (): void => void vi.setSystemTime(Date.now() - 3_600_000);

  it("does not make a request time out an hour later", async () => {
    const { service, analytics } = createOnMachine();
    service.reply("hang");
    const receipt = analytics.track({ userId: USER_ID, event: "E" });
    await vi.advanceTimersByTimeAsync(1_000);
    setBack();
    await vi.advanceTimersByTimeAsync(9_000 + 1_000);
    expect(receipt.outcome).toEqual({ status: "delivered" });
    expect(service.requests).toHaveLength(2);
  });

  it("does not make a retry, or a call behind it, wait an hour longer than the service asked", async () => {
    const { service, analytics } = createOnMachine();
    service.reply({ status: 503, headers: { "Retry-After": "60" } });
    const before = analytics.track({ userId: USER_ID, event: "E" });
    await vi.advanceTimersByTimeAsync(1_000);
    setBack();
    await vi.advanceTimersByTimeAsync(58_000);
    expect(service.requests).toHaveLength(1);
    await vi.advanceTimersByTimeAsync(1_000);
    expect(before.outcome).toEqual({ status: "delivered" });
    const after = analytics.track({ userId: USER_ID, event: "E" });
    await vi.advanceTimersByTimeAsync(0);
    expect(after.outcome).toEqual({ status: "delivered" });
  });

  it("does not make a call that comes during a pause wait an hour longer", async () => {
    const { service, analytics } = createOnMachine();
    service.reply({ status: 503, headers: { "Retry-After": "60" } });
    analytics.track({ userId: USER_ID, event: "E" });
    await vi.advanceTimersByTimeAsync(1_000);
    setBack();
    const during = analytics.track({ userId: USER_ID, event: "E" });
    await vi.advanceTimersByTimeAsync(1_000);
    expect(during.outcome).toBeUndefined();
    // The longest Retry-After that is respected.
    await vi.advanceTimersByTimeAsync(300_000);
    expect(during.outcome).toEqual({ status: "delivered" });
  });

  it("does not hold a queued call back an hour", async () => {
    const { service } = createOnMachine();
    const analytics = new Analytics("K", { transport: service });
    const receipt = analytics.track({ userId: USER_ID, event: "E" });
    await vi.advanceTimersByTimeAsync(1_000);
    setBack();
    await vi.advanceTimersByTimeAsync(4_000);
    expect(receipt.outcome).toEqual({ status: "delivered" });
  });
});
