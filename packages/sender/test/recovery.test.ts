import { join } from "node:path";
import { setImmediate as nextTurn } from "node:timers/promises";
import {
  shardedStore,
  sqliteStore,
  type DeliverySummary,
  type ResendProgress,
  type Sender,
  type SenderSettings,
  type Transport,
} from "@countersign/sender";
import type { DeliveryStore } from "@countersign/sender/store";
import { virtualClock, type VirtualClock } from "@countersign/sender/testing";
import { describe, expect, it } from "vitest";
import { answering } from "./support/answering.ts";
import { changedStore } from "./support/changed-store.ts";
import { openSender } from "./support/open-sender.ts";
import { startReceiver } from "./support/receiver.ts";
import { silentTransport } from "./support/silent-transport.ts";
import { temporaryFolder } from "./support/temporary-folder.ts";

const NOW = Date.parse("2026-01-31T14:00:00.000Z");
const ID_IN_USE =
  'resend({ id }): the store has a delivery "mine" already. Choose another id, or leave it out.';

/** Every delivery, page after page. */
async function* summariesOf(sender: Sender): AsyncGenerator<DeliverySummary> {
  for (let after: string | undefined; ;) {
    const page = await sender.summaries({ limit: 1_000, after });
    yield* page.deliveries;
    after = page.next;
    if (after === undefined) return;
  }
}

describe("a delivery that is sent again", () => {
  it("with another body is another message, which says itself what it is", async () => {
    const receiver = await startReceiver();
    const sender = await openSender({ url: receiver.url, secret: "secret" });
    const [first] = await (await sender.track({ userId: "u1", event: "A" })).settled();
    const body = JSON.stringify({ type: "identify", messageId: "m2", anonymousId: "a1", traits: {} });
    const receipt = await sender.resend(first?.id ?? "", { body });
    expect(receipt.messageId).toBe("m2");
    const [second] = await receipt.settled();
    expect(receiver.received[1]?.body).toBe(body);
    expect(second).toMatchObject({
      state: "delivered",
      messageId: "m2",
      type: "identify",
      identity: "a1",
      resendOf: first?.id,
      destination: first?.destination,
    });
    expect(second?.event).toBeUndefined();
    expect((await sender.delivery(first?.id ?? ""))?.body).toEqual(first?.body);
  });

  it("with bytes that are no message is what the original was about", async () => {
    const receiver = await startReceiver();
    const sender = await openSender({ url: receiver.url, transport: answering({ status: 400 }) });
    const [first] = await (await sender.track({ userId: "u1", messageId: "m1", event: "A" })).settled();
    const [second] = await (
      await sender.resend(first?.id ?? "", { body: Uint8Array.of(0xff, 0x7b) })
    ).settled();
    expect(second).toMatchObject({ messageId: "m1", type: "track", identity: "u1", event: "A" });
    expect([...(second?.body ?? [])]).toEqual([0xff, 0x7b]);
  });

  it.each([
    ["longer than an id may be, which an index might not hold", "\u{1F600}x".repeat(20_000)],
    ["empty", ""],
    ["no text", 7],
  ])("with a messageId that is %s, is known by that of the original", async (_, messageId) => {
    const receiver = await startReceiver();
    const sender = await openSender({ url: receiver.url });
    const [first] = await (await sender.track({ userId: "u1", messageId: "m1", event: "A" })).settled();
    const body = JSON.stringify({ type: "track", userId: "u2", event: "B", messageId });
    const receipt = await sender.resend(first?.id ?? "", { body });
    expect(receipt.messageId).toBe("m1");
    expect(await receipt.settled()).toMatchObject([{ state: "delivered", messageId: "m1", identity: "u2" }]);
    expect(receiver.received[1]?.body).toBe(body);
  });

  it("has four hours of its own", async () => {
    const clock = virtualClock(NOW);
    const transport = answering({ status: 503 });
    const sender = await openSender({ url: "http://127.0.0.1:9/", clock, transport });
    const receipt = await sender.track({ userId: "u1", event: "A" });
    await clock.advance("5h");
    const [original] = await receipt.settled();
    const again = await sender.resend(original?.id ?? "");
    await clock.advance("5h");
    const [copy] = await again.settled();
    expect(copy?.acceptedAt).toBe(NOW + 5 * 3_600_000);
    expect([original?.state, copy?.state]).toEqual(["expired", "expired"]);
    expect(copy?.endedAt).toBe(NOW + 9 * 3_600_000 - 5_000);
  });

  it("can have an id that a fault was injected for before", async () => {
    const receiver = await startReceiver();
    const sender = await openSender({ url: receiver.url });
    const [first] = await (await sender.track({ userId: "u1", event: "A" })).settled();
    sender.inject("status:410", { deliveryId: "chosen-1" });
    const receipt = await sender.resend(first?.id ?? "", { id: "chosen-1" });
    const [second] = await receipt.settled();
    expect(second).toMatchObject({ id: "chosen-1", state: "failed", attempts: [{ fault: "status:410" }] });
  });

  it.each([
    [{ body: 7 }, /body.*text or bytes/u],
    [{ body: "x".repeat(1_048_577) }, /1048576 bytes/u],
    [{ id: "a/b" }, /id.*letters/u],
    [{ fault: "reset" }, /unknown option "fault"/u],
  ])("with wrong options is a TypeError: %o", async (options, text) => {
    const sender = await openSender({ url: "http://127.0.0.1:9/", transport: silentTransport() });
    const { deliveries } = await sender.track({ userId: "u1", event: "A" });
    const error: unknown = await sender
      .resend(deliveries[0] ?? "", options as never)
      .catch((reason: unknown) => reason);
    expect(error).toBeInstanceOf(TypeError);
    expect(String(error)).toMatch(text);
  });
});

describe("everything that failed is sent again", () => {
  it("once, by a filter, and nothing of what matches later: in virtual time too, where all is at once", async () => {
    const clock = virtualClock(NOW);
    const answer = { status: 400 };
    const sender = await openSender({ url: "http://127.0.0.1:9/", clock, transport: answering(answer) });
    const failed: string[] = [];
    for (let n = 0; n < 250; n += 1)
      failed.push(...(await sender.track({ userId: `u${n}`, event: "A" })).deliveries);
    await sender.track({ userId: "u1", event: "B" });
    await clock.advance(0);
    const progress: ResendProgress[] = [];
    // The new deliveries fail too, and match the filter.
    const { resent } = await sender.resend({
      filter: { state: "failed", event: "A" },
      onProgress: (one) => progress.push(one),
    });
    await clock.advance(0);
    expect(resent).toBe(250);
    expect(progress.map((one) => one.resent)).toEqual([100, 200, 250]);
    expect(progress.every(({ matched }) => matched === 250)).toBe(true);
    const all = await sender.summaries({ event: "A", limit: 1_000 });
    const repeated = all.deliveries.flatMap(({ resendOf }) => resendOf ?? []);
    expect(repeated.toSorted()).toEqual(failed.toSorted());
  });

  it("ten thousand of them, each once, none lost, while others are accepted and fail", async () => {
    const answer = { status: 400 };
    const sender = await openSender({ url: "http://127.0.0.1:9/", transport: answering(answer) });
    const calls = (from: number, number: number) =>
      Array.from({ length: number }, (_, n) => ({
        type: "track" as const,
        userId: `u${from + n}`,
        event: "A",
        timestamp: "2026-01-31T14:00:00.000Z",
      }));
    for (let n = 0; n < 10_000; n += 1_000) await sender.accept(calls(n, 1_000));
    await sender.idle();
    const failed = new Set<string>();
    for await (const { id } of summariesOf(sender)) failed.add(id);
    expect(failed.size).toBe(10_000);
    // So many for each page: with as many as the machine takes, a busy one has no time left for resending.
    const [turns, atOnce] = [5, 5];
    let arrived = 0;
    const arrive = async (): Promise<void> => {
      for (let turn = 0; turn < turns; turn += 1) {
        await sender.accept(calls(10_000 + arrived, atOnce));
        arrived += atOnce;
        await nextTurn();
      }
    };
    const arriving = [arrive()];
    const { resent } = await sender.resend({
      filter: { state: ["failed", "expired"] },
      onProgress: () => arriving.push(arrive()),
    });
    await Promise.all(arriving);
    await sender.idle();
    expect(arrived).toBeGreaterThan(100 * turns * atOnce);
    const originals: string[] = [];
    for await (const { resendOf } of summariesOf(sender))
      if (resendOf !== undefined) originals.push(resendOf);
    expect(originals).toHaveLength(resent);
    const resentOnce = new Set(originals);
    expect(resentOnce.size).toBe(resent);
    expect([...failed].filter((id) => !resentOnce.has(id))).toEqual([]);
    // Of those that arrive meanwhile, at most the first can have failed before the resending looked.
    expect(resent - 10_000).toBeLessThanOrEqual(turns * atOnce);
    expect(await sender.count({})).toBe(10_000 + arrived + resent);
  }, 180_000);

  it("on a clock that stands still, and the progress of it ends whole", async () => {
    const clock = virtualClock(NOW);
    const transport = answering({ status: 400 });
    const sender = await openSender({ url: "http://127.0.0.1:9/", clock, transport });
    for (let n = 0; n < 3; n += 1) await sender.track({ userId: `u${n}`, event: "A" });
    await clock.advance(0);
    const progress: ResendProgress[] = [];
    for (let n = 0; n < 2; n += 1) {
      await sender.resend({ filter: { state: "failed" }, onProgress: (more) => void progress.push(more) });
      await clock.advance(0);
    }
    expect(await sender.count({ state: "failed" })).toBe(9);
    expect(progress).toEqual([
      { resent: 3, matched: 3 },
      { resent: 3, matched: 3 },
    ]);
  });

  it("again and again until it arrives: no message arrives twice", async () => {
    const clock = virtualClock(NOW);
    const answer = { status: 400 };
    const sender = await openSender({ url: "http://127.0.0.1:9/", clock, transport: answering(answer) });
    const { deliveries } = await sender.track({ userId: "u0", event: "A" });
    for (let n = 1; n < 5; n += 1) await sender.track({ userId: `u${n}`, event: "A" });
    const resendAll = async (): Promise<number> => {
      await clock.advance("1m");
      const { resent } = await sender.resend({ filter: { state: ["failed", "expired"] } });
      await clock.advance(0);
      return resent;
    };
    expect([await resendAll(), await resendAll()]).toEqual([5, 5]);
    expect(await sender.count({ state: "failed" })).toBe(15);
    answer.status = 204;
    // One of them alone, to see whether the receiver is well again.
    await (await sender.resend(deliveries[0] ?? "")).settled();
    expect([await resendAll(), await resendAll()]).toEqual([4, 0]);
    expect(await sender.count({ state: "delivered" })).toBe(5);
    // What was delivered is sent again as often as somebody asks for it.
    const again = { filter: { state: "delivered", until: clock.now() } } as const;
    await clock.advance("1m");
    expect([await sender.resend(again), await sender.resend(again)]).toEqual([{ resent: 5 }, { resent: 5 }]);
  });

  it("by two who do so at the same time: one copy of each", async () => {
    const clock = virtualClock(NOW);
    const answer = { status: 400 };
    const sender = await openSender({ url: "http://127.0.0.1:9/", clock, transport: answering(answer) });
    for (let n = 0; n < 50; n += 1) await sender.track({ userId: `u${n}`, event: "A" });
    await clock.advance("1m");
    answer.status = 204;
    const filter = { state: "failed" } as const;
    await Promise.all([sender.resend({ filter }), sender.resend({ filter })]);
    await clock.advance(0);
    expect(await sender.count({ state: "delivered" })).toBe(50);
  });

  it.each(["its own", "a long one of a caller"])(
    "once, however often it failed, with %s as id",
    async (kind) => {
      const clock = virtualClock(NOW);
      const answer = { status: 400 };
      const sender = await openSender({ url: "http://127.0.0.1:9/", clock, transport: answering(answer) });
      const { deliveries } = await sender.track({ userId: "u1", event: "A" });
      await clock.advance(0);
      if (kind !== "its own") {
        await clock.advance(1);
        await (await sender.resend(deliveries[0] ?? "", { id: "i".repeat(99) })).settled();
        await sender.clear({ until: NOW + 1 });
      }
      const filter = { state: "failed" } as const;
      const resendAll = async (): Promise<number> => {
        await clock.advance("1m");
        const { resent } = await sender.resend({ filter });
        await clock.advance(0);
        return resent;
      };
      const rounds: number[] = [];
      for (let n = 0; n < 60; n += 1) rounds.push(await resendAll());
      expect(new Set(rounds)).toEqual(new Set([1]));
      const { deliveries: copies } = await sender.summaries({ limit: 1_000 });
      expect(Math.max(...copies.map(({ id }) => id.length))).toBeLessThanOrEqual(99);
      answer.status = 204;
      expect([await resendAll(), await resendAll()]).toEqual([1, 0]);
      expect(await sender.count({ state: "delivered" })).toBe(1);
    },
  );

  it("once, though a copy with an id of the caller has failed, too", async () => {
    const clock = virtualClock(NOW);
    const answer = { status: 400 };
    const sender = await openSender({ url: "http://127.0.0.1:9/", clock, transport: answering(answer) });
    const { deliveries } = await sender.track({ userId: "u1", event: "A" });
    await clock.advance("1m");
    await (await sender.resend(deliveries[0] ?? "", { id: "chosen" })).settled();
    await (await sender.resend("chosen", { id: "chosen-again" })).settled();
    await clock.advance("1m");
    answer.status = 204;
    const progress: ResendProgress[] = [];
    await sender.resend({ filter: { state: "failed" }, onProgress: (one) => progress.push(one) });
    expect(progress).toEqual([{ resent: 1, matched: 1 }]);
    await clock.advance(0);
    expect(await sender.count({ state: "delivered" })).toBe(1);
    expect(await sender.resend({ filter: { state: "failed" } })).toEqual({ resent: 0 });
  });

  it("once, though a caller used the id of what is gone for a copy of its copy", async () => {
    const clock = virtualClock(NOW);
    const sender = await openSender({
      url: "http://127.0.0.1:9/",
      clock,
      transport: answering({ status: 400 }),
    });
    const { deliveries } = await sender.track({ userId: "u1", event: "A" });
    await clock.advance("1m");
    const { deliveries: copies } = await sender.resend(deliveries[0] ?? "");
    await clock.advance("1m");
    await sender.clear({ until: NOW + 1 });
    await (await sender.resend(copies[0] ?? "", { id: deliveries[0] })).settled();
    await clock.advance("1m");
    expect(await sender.resend({ filter: { state: "failed" } })).toEqual({ resent: 1 });
  });

  it("not if a copy arrived that was made while it waited", async () => {
    const clock = virtualClock(NOW);
    const answer = { status: 503 };
    const sender = await openSender({ url: "http://127.0.0.1:9/", clock, transport: answering(answer) });
    const { deliveries } = await sender.track({ userId: "u1", event: "A" });
    await clock.advance(0);
    answer.status = 204;
    await (await sender.resend(deliveries[0] ?? "")).settled();
    answer.status = 400;
    await clock.advance("5h");
    expect(await sender.count({ state: "failed" })).toBe(1);
    expect(await sender.resend({ filter: { state: "failed" } })).toEqual({ resent: 0 });
  });

  it("not if it was delivered since, though what was delivered has been removed", async () => {
    const clock = virtualClock(NOW);
    const answer = { status: 400 };
    const sender = await openSender({ url: "http://127.0.0.1:9/", clock, transport: answering(answer) });
    await sender.track({ userId: "u1", event: "A" });
    await clock.advance("1m");
    answer.status = 204;
    await sender.track({ userId: "u2", event: "A" });
    const resendAll = async (): Promise<number> => {
      const { resent } = await sender.resend({ filter: { state: "failed" } });
      await clock.advance("1m");
      return resent;
    };
    expect(await resendAll()).toBe(1);
    expect(await sender.clear({ state: "delivered" })).toBe(1);
    expect(await resendAll()).toBe(0);
    expect(await sender.clear({ identity: "u1" })).toBe(2);
    expect(await sender.count({})).toBe(0);
  });

  it.each(["original", "first copy"])(
    "not if a second copy was delivered, though the %s and what was delivered have been removed",
    async (which) => {
      const clock = virtualClock(NOW);
      const answer = { status: 400 };
      const sender = await openSender({ url: "http://127.0.0.1:9/", clock, transport: answering(answer) });
      await (await sender.track({ userId: "u1", event: "A" })).settled();
      const resendAll = async (): Promise<number> => {
        await clock.advance("1m");
        const { resent } = await sender.resend({ filter: { state: "failed" } });
        await clock.advance(0);
        return resent;
      };
      answer.status = 422;
      expect(await resendAll()).toBe(1);
      answer.status = 204;
      expect(await resendAll()).toBe(1);
      expect(await sender.clear({ state: "failed", status: which === "original" ? 400 : 422 })).toBe(1);
      expect(await sender.clear({ state: "delivered" })).toBe(0);
      expect(await resendAll()).toBe(0);
      expect(await sender.clear()).toBe(2);
    },
  );

  it("and what was sent again with another body is removed at once: it is no evidence that the original arrived", async () => {
    const clock = virtualClock(NOW);
    const answer = { status: 400 };
    const sender = await openSender({ url: "http://127.0.0.1:9/", clock, transport: answering(answer) });
    const { deliveries } = await sender.track({ userId: "u1", event: "A" });
    await clock.advance(0);
    answer.status = 204;
    const body = JSON.stringify({ type: "track", messageId: "other", userId: "u2", event: "A" });
    await (await sender.resend(deliveries[0] ?? "", { body })).settled();
    expect(await sender.clear({ identity: "u2" })).toBe(1);
  });

  it("until its signal says stop; what was sent again by then stays so", async () => {
    const clock = virtualClock(NOW);
    const sender = await openSender({
      url: "http://127.0.0.1:9/",
      clock,
      transport: answering({ status: 400 }),
    });
    for (let n = 0; n < 150; n += 1) await sender.track({ userId: "u1", event: "A" });
    await clock.advance(0);
    const stop = new AbortController();
    const reason = new Error("enough");
    const resending = sender.resend({
      filter: { state: "failed" },
      signal: stop.signal,
      onProgress: () => stop.abort(reason),
    });
    await expect(resending).rejects.toBe(reason);
    expect(await sender.count({})).toBe(250);
  });

  it.each([
    [{}, /at least one field/u],
    [{ state: undefined }, /at least one field/u],
    [{ stat: "failed" }, /did you mean "state"/u],
    [{ state: "failed", limit: 5 }, /about every delivery that matches/u],
  ])("not by a filter that says nothing or the wrong thing: %o", async (filter, text) => {
    const sender = await openSender({ url: "http://127.0.0.1:9/", transport: silentTransport() });
    const error: unknown = await sender.resend({ filter } as never).catch((reason: unknown) => reason);
    expect(error).toBeInstanceOf(TypeError);
    expect(String(error)).toMatch(text);
  });
});

it("an id that is in use is not taken for the copy of another delivery", async () => {
  const clock = virtualClock(NOW);
  const transport = answering({ status: 400 });
  const sender = await openSender({ url: "http://127.0.0.1:9/", clock, transport, store: sqliteStore() });
  const ids: string[] = [];
  for (let n = 0; n < 2; n += 1)
    ids.push(...(await sender.track({ userId: `u${n}`, event: "A" })).deliveries);
  const [a = "", b = ""] = ids;
  await sender.resend(a, { id: "mine" });
  await expect(sender.resend(b, { id: "mine" })).rejects.toThrow(ID_IN_USE);
  await expect(sender.resend(a, { id: "mine", body: "{}" })).rejects.toThrow(ID_IN_USE);
});

it("an id that is in use is not given to a delivery of another source, which another store may have", async () => {
  const transport = answering({ status: 400 });
  const sources = ["shop", "app"].map((name) => ({
    name,
    destinations: [{ endpoints: [{ url: "http://127.0.0.1:9/" }] }],
  }));
  const under = await openSender({ sources, transport });
  const store = shardedStore({ shop: sqliteStore(), app: sqliteStore() }, (source) => source);
  for (const sender of [under, await openSender({ sources, transport, store })]) {
    const ids: string[] = [];
    for (const source of ["shop", "app"])
      ids.push(...(await sender.track({ userId: "u", event: "A" }, { source })).deliveries);
    const [a = "", b = ""] = ids;
    await sender.resend(a, { id: "mine" });
    const error: unknown = await sender.resend(b, { id: "mine" }).catch((reason: unknown) => reason);
    expect(error).toMatchObject({ name: "StoreError", message: ID_IN_USE });
    expect(await sender.delivery("mine")).toMatchObject({ source: "shop", resendOf: a });
    expect(await sender.count({})).toBe(3);
  }
});

describe("a waiting delivery", () => {
  it("is tried now on request, and not when it has ended", async () => {
    const clock = virtualClock(NOW);
    const answer = { status: 503 };
    const sender = await openSender({ url: "http://127.0.0.1:9/", clock, transport: answering(answer) });
    const receipt = await sender.track({ userId: "u1", event: "A" });
    const [id = ""] = receipt.deliveries;
    await clock.advance(0);
    answer.status = 200;
    expect(await sender.retry(id)).toBe(true);
    await clock.advance(0);
    expect(await receipt.settled()).toMatchObject([{ state: "delivered", endedAt: NOW }]);
    expect(await sender.retry(id)).toBe(false);
    expect(await sender.retry("unknown")).toBe(false);
  });
});

describe("deliveries that wait", () => {
  const OUTAGE = { status: 503 };
  const AFTER = Date.parse("2026-01-31T16:00:00.000Z");

  /** A sender whose deliveries, five of each event, wait after an outage; and whom they are for, in the order of acceptance. */
  async function afterOutage(store?: DeliveryStore) {
    const clock = virtualClock(NOW);
    const answer = { ...OUTAGE };
    const tried: string[] = [];
    const transport: Transport = {
      send: (request, options) => {
        tried.push(JSON.parse(Buffer.from(request.body).toString()).userId as string);
        return answering(answer).send(request, options);
      },
      close: () => Promise.resolve(),
    };
    const sender = await openSender({ url: "http://127.0.0.1:9/", clock, transport, store, seed: 1 });
    const users: string[] = [];
    for (const event of ["A", "B"]) {
      for (let n = 0; n < 5; n += 1) {
        users.push(`${event}${n}`);
        await sender.track({ userId: `${event}${n}`, event });
        await clock.advance(1);
      }
    }
    await clock.advance(AFTER - clock.now());
    expect(await sender.count({ state: "pending" })).toBe(10);
    tried.length = 0;
    return { clock, answer, tried, sender, users };
  }

  it("are all tried now after an outage, in the order of acceptance", async () => {
    const { clock, answer, tried, sender, users } = await afterOutage();
    answer.status = 200;
    expect(await sender.retry({ filter: {} })).toEqual({ retried: 10, waiting: 0 });
    await clock.advance(0);
    await sender.idle();
    expect(tried).toEqual(users);
    const { deliveries } = await sender.summaries();
    expect(deliveries.every(({ state, endedAt }) => state === "delivered" && endedAt === AFTER)).toBe(true);
  });

  it("are tried once each, however often it is asked for at the same time", async () => {
    const { clock, answer, tried, sender, users } = await afterOutage();
    answer.status = 200;
    const asked = [sender.retry({ filter: {} }), sender.retry({ filter: { state: ["pending", "failed"] } })];
    const counts = (await Promise.all(asked)).map(({ retried }) => retried);
    expect(counts.reduce((sum, count) => sum + count, 0)).toBe(10);
    await clock.advance(0);
    await sender.idle();
    // Two that ask at once may each get a part of them, and then their order is not one.
    expect(tried.toSorted()).toEqual(users.toSorted());
    expect(await sender.retry({ filter: {} })).toEqual({ retried: 0, waiting: 0 });
  });

  it.each(["list", "hastenAll"] as const)(
    "are counted once, though who asks first finds them last: held up before %s()",
    async (step) => {
      let held: (() => void) | undefined;
      let holdsUp = false;
      const real = sqliteStore();
      const heldUp = async (): Promise<void> => {
        if (!holdsUp) return;
        holdsUp = false;
        await new Promise<void>((resolve) => (held = resolve));
      };
      const store = changedStore(real, () => ({
        async [step](...given: never[]) {
          await heldUp();
          return (real[step] as (...args: never[]) => unknown)(...given);
        },
      }));
      const { clock, tried, sender } = await afterOutage(store);
      holdsUp = true;
      const first = sender.retry({ filter: {} });
      await expect.poll(() => held).toBeDefined();
      // Nobody delivers meanwhile.
      sender.configure({ sources: sender.settings.sources.map((source) => ({ ...source, name: "other" })) });
      await clock.advance(3);
      expect(await sender.retry({ filter: {} })).toMatchObject({ retried: 10 });
      held?.();
      expect(await first).toMatchObject({ retried: 0 });
      expect(tried).toEqual([]);
    },
  );

  it("that match a filter are tried now, and of those at most the limit, which were accepted first", async () => {
    const { clock, answer, tried, sender } = await afterOutage();
    answer.status = 200;
    expect(await sender.retry({ filter: { event: "B" }, limit: 2 })).toEqual({ retried: 2, waiting: 0 });
    await clock.advance(0);
    expect(tried).toEqual(["B0", "B1"]);
    expect(await sender.retry({ filter: { event: "B" }, limit: 2 })).toEqual({ retried: 2, waiting: 0 });
    await clock.advance(0);
    expect(await sender.retry({ filter: { event: "B", until: NOW + 5 } })).toEqual({
      retried: 0,
      waiting: 0,
    });
    expect(await sender.retry({ filter: { event: "B" } })).toEqual({ retried: 1, waiting: 0 });
    await clock.advance(0);
    expect(tried).toEqual(["B0", "B1", "B2", "B3", "B4"]);
    expect(await sender.count({ state: "pending", event: "A" })).toBe(5);
  });

  it("are counted apart where their destination has no settings, for they are not tried", async () => {
    const { clock, answer, tried, sender, users } = await afterOutage();
    answer.status = 200;
    const { settings } = sender;
    sender.configure({ sources: settings.sources.map((source) => ({ ...source, name: "other" })) });
    expect(await sender.retry({ filter: {}, limit: 3 })).toEqual({ retried: 3, waiting: 3 });
    await clock.advance(0);
    expect(tried).toEqual([]);
    sender.configure(settings);
    expect(await sender.retry({ filter: {} })).toEqual({ retried: 7, waiting: 0 });
    await clock.advance(0);
    await sender.idle();
    expect(tried).toEqual(users);
  });

  it("and fail again wait as long as the schedule wants after so many attempts, and no longer than four hours", async () => {
    const { clock, sender } = await afterOutage();
    const before = await sender.deliveries();
    expect(await sender.retry({ filter: {} })).toEqual({ retried: 10, waiting: 0 });
    await clock.advance(0);
    const { deliveries } = await sender.summaries();
    for (const [index, { state, attempts, last, dueAt = 0 }] of deliveries.entries()) {
      expect([state, last?.startedAt]).toEqual(["pending", AFTER]);
      expect(attempts).toBe((before[index]?.attempts.length ?? 0) + 1);
      // The longest delay, times 0.5 to 1.
      expect(dueAt - AFTER).toBeGreaterThanOrEqual(450_000);
      expect(dueAt - AFTER).toBeLessThanOrEqual(900_000);
    }
    await clock.advance("2h");
    expect(await sender.count({ state: "expired" })).toBe(10);
  });

  it("are each looked at once, so that one that fails again meanwhile is not tried a third time", async () => {
    let looked = 0;
    const store = changedStore(sqliteStore(), (real, context) => ({
      async list(filter, order) {
        const page = await real.list({ ...filter, limit: Math.min(filter.limit ?? 3, 3) }, order);
        // Between two pages, what was made due is tried, and waits again.
        if (order === "oldest first" && (looked += 1) > 1) await (context().clock as VirtualClock).advance(0);
        return page;
      },
    }));
    const { tried, clock, sender, users } = await afterOutage(store);
    expect(await sender.retry({ filter: {} })).toEqual({ retried: 10, waiting: 0 });
    await clock.advance(0);
    expect(looked).toBeGreaterThan(3);
    expect(tried).toEqual(users);
  });

  it("what fails between two pages is told, and what was made due by then stays so", async () => {
    let pages = 0;
    const store = changedStore(sqliteStore(), (real) => ({
      list(filter, order) {
        if (order === "oldest first") pages += 1;
        return pages > 1 ? Promise.reject(new Error("away")) : real.list({ ...filter, limit: 3 }, order);
      },
    }));
    const { tried, answer, clock, sender, users } = await afterOutage(store);
    answer.status = 200;
    await expect(sender.retry({ filter: {} })).rejects.toThrow("away");
    await clock.advance(0);
    expect(tried).toEqual(users.slice(0, 3));
  });

  it.each([
    [undefined, "retry() takes an options object, { filter, limit }, not undefined."],
    [{}, "retry({ filter }) takes an options object, "],
    [{ destination: "shop/webhooks" }, 'retry(): unknown option "destination"'],
    [{ filter: { stat: "pending" } }, 'retry({ filter }): unknown option "stat"; did you mean "state"?'],
    [{ filter: { limit: 5 } }, "this is about every delivery that matches"],
    [{ filter: { state: "failed" } }, "retry() tries deliveries that wait; all of them are pending."],
    [{ filter: { state: "done" } }, "retry({ filter: { state } }) must be one of "],
    [{ filter: {}, limit: 0 }, "retry({ limit }) must be a whole number, at least 1, not 0."],
    [{ filter: {}, limit: "10" }, 'retry({ limit }) must be a whole number, at least 1, not "10".'],
  ])("are not tried when what is asked for is wrong: %o", async (what, text) => {
    const { sender, clock, tried } = await afterOutage();
    const error: unknown = await sender.retry(what as never).catch((reason: unknown) => reason);
    expect(error).toBeInstanceOf(TypeError);
    expect(String(error)).toContain(text);
    await clock.advance(0);
    expect(tried).toEqual([]);
  });

  it("are tried now after the clock was set back, which would else make them wait for longer", async () => {
    const store = (): DeliveryStore => sqliteStore({ path });
    const path = join(temporaryFolder(), "deliveries.db");
    const { sender } = await afterOutage(store());
    await sender.close();
    const clock = virtualClock(NOW - 3_600_000);
    const transport = answering({ status: 200 });
    const later = await openSender({ url: "http://127.0.0.1:9/", clock, transport, store: store() });
    expect(await later.retry({ filter: {} })).toEqual({ retried: 10, waiting: 0 });
    await later.idle();
    expect(await later.count({ state: "delivered" })).toBe(10);
  });

  it("of a destination that is disabled are counted as waiting, and are tried when it is enabled again", async () => {
    const { sender, clock, answer, tried, users } = await afterOutage();
    const { settings } = sender;
    const withEnabled = (enabled: boolean): SenderSettings => ({
      sources: settings.sources.map((source) => ({
        ...source,
        destinations: source.destinations.map((destination) => ({ ...destination, enabled })),
      })),
    });
    sender.configure(withEnabled(false));
    answer.status = 200;
    expect(await sender.retry({ filter: {} })).toEqual({ retried: 10, waiting: 10 });
    await clock.advance(0);
    expect(tried).toEqual([]);
    sender.configure(withEnabled(true));
    await sender.idle();
    expect(tried).toEqual(users);
  });
});

describe("clear()", () => {
  it("removes what has ended and matches, and nothing that is pending", async () => {
    const clock = virtualClock(NOW);
    const answer = { status: 200 };
    const sender = await openSender({ url: "http://127.0.0.1:9/", clock, transport: answering(answer) });
    for (const [status, event] of [
      [200, "A"],
      [400, "A"],
      [400, "B"],
      [503, "A"],
    ] as const) {
      answer.status = status;
      await sender.track({ userId: "u1", event });
      await clock.advance(0);
    }
    expect(await sender.clear({ state: "failed", event: "A" })).toBe(1);
    expect(await sender.count({})).toBe(3);
    expect(await sender.clear()).toBe(2);
    const { deliveries } = await sender.summaries();
    expect(deliveries.map(({ state, event }) => `${state} ${event}`)).toEqual(["pending A"]);
    await expect(sender.clear({ state: "pending" })).rejects.toThrow(/none of them is pending/u);
    await expect(sender.clear({ after: "1.a" } as never)).rejects.toThrow(TypeError);
  });

  it("does not look at the copies that stay once more for each page that is removed", async () => {
    let looked = 0;
    const atMost10 = (limit = 10): number => Math.min(limit, 10);
    const store = changedStore(sqliteStore(), (real) => ({
      list: (filter, order) => real.list({ ...filter, limit: atMost10(filter.limit) }, order),
      async remove(filter) {
        const within = await real.list({ ...filter, limit: 1_000 });
        looked += within.filter(({ resendOf }) => resendOf !== undefined).length;
        return real.remove({ ...filter, limit: atMost10(filter.limit) });
      },
    }));
    const clock = virtualClock(NOW);
    const answer = { status: 204 };
    const sender = await openSender({
      url: "http://127.0.0.1:9/",
      clock,
      transport: answering(answer),
      store,
    });
    const accept = async (count: number): Promise<string[]> => {
      const ids: string[] = [];
      for (let n = 0; n < count; n += 1) {
        ids.push(...(await sender.track({ userId: "u1", event: "A" })).deliveries);
        await clock.advance(1);
      }
      return ids;
    };
    await accept(100);
    answer.status = 400;
    const failed = await accept(20);
    answer.status = 204;
    for (const id of failed) {
      await (await sender.resend(id)).settled();
      await clock.advance(1);
    }
    expect(await sender.clear({ state: "delivered" })).toBe(100);
    expect(looked).toBeLessThanOrEqual(2 * 20);
    expect(await sender.clear()).toBe(40);
  });
});

describe("pages", () => {
  it("have every delivery once, the newest first, whatever is accepted or removed in between", async () => {
    const clock = virtualClock(NOW);
    const sender = await openSender({
      url: "http://127.0.0.1:9/",
      clock,
      transport: answering({ status: 200 }),
    });
    const ids: string[] = [];
    const accept = async (): Promise<void> => {
      ids.push(...(await sender.track({ userId: "u1", event: "A" })).deliveries);
      await clock.advance(0);
    };
    for (let n = 0; n < 10; n += 1) await accept();
    const first = await sender.summaries({ limit: 4 });
    expect(first.deliveries.map(({ id }) => id)).toEqual(ids.toReversed().slice(0, 4));
    expect(first.deliveries[0]).toMatchObject({ state: "delivered", attempts: 1, last: { status: 200 } });
    await accept();
    await sender.clear({ messageId: first.deliveries[3]?.messageId });
    const second = await sender.summaries({ limit: 4, after: first.next });
    const third = await sender.summaries({ limit: 2, after: second.next });
    const old = ids.slice(0, 10).toReversed();
    expect([...second.deliveries, ...third.deliveries].map(({ id }) => id)).toEqual(old.slice(4));
    // The last page is full, and is known to be the last.
    expect(third.next).toBeUndefined();
    await expect(sender.summaries({ after: "yesterday" })).rejects.toThrow(/not a cursor/u);
  });

  it("of skipped calls tell which call went nowhere, and why", async () => {
    const sender = await openSender({
      transport: silentTransport(),
      sources: [
        {
          name: "shop",
          blockedEvents: ["Heartbeat"],
          destinations: [{ endpoints: [{ url: "http://127.0.0.1:9/" }] }],
        },
        { name: "app", destinations: [] },
      ],
    });
    await sender.track({ userId: "u1", event: "Heartbeat" }, { source: "shop" });
    await sender.page({ userId: "u2", integrations: { All: false } }, { source: "shop" });
    await sender.identify({ userId: "u3" }, { source: "app" });
    await sender.track({ userId: "u4", event: "Sent" }, { source: "shop" });
    const { calls, next } = await sender.skipped({ limit: 2 });
    expect(calls).toMatchObject([
      { source: "app", type: "identify", identity: "u3", reason: "no_destination" },
      { source: "shop", type: "page", identity: "u2", reason: "integrations" },
    ]);
    expect(await sender.skipped({ limit: 2, after: next })).toMatchObject({
      calls: [{ type: "track", event: "Heartbeat", reason: "blocked_event" }],
      next: undefined,
    });
    await expect(sender.skipped({ state: "failed" } as never)).rejects.toThrow(/unknown option "state"/u);
  });
});

it("what fails between two pages is told, with what was done", async () => {
  const clock = virtualClock(NOW);
  let pages = 0;
  const store = changedStore(sqliteStore(), (real) => ({
    list(filter) {
      // Not those that look for copies.
      if (filter.messageId === undefined) pages += 1;
      return pages > 1 ? Promise.reject(new Error("away")) : real.list(filter);
    },
  }));
  const transport = answering({ status: 400 });
  const sender = await openSender({ url: "http://127.0.0.1:9/", clock, transport, store });
  for (let n = 0; n < 101; n += 1) await sender.track({ userId: "u1", event: "A" });
  await clock.advance(0);
  const told: number[] = [];
  const onProgress = ({ resent }: ResendProgress): number => told.push(resent);
  await expect(sender.resend({ filter: { state: "failed" }, onProgress })).rejects.toThrow("away");
  expect(told).toEqual([100]);
});
