import { systemClock, type Clock } from "@countersign/protocol";
import type { Attempt, DeliveryState, MessageType } from "@countersign/sender";
import {
  cursorOf,
  type DeliveryFilter,
  type DeliveryStore,
  type DueDelivery,
  matchesFilter,
  newestFirst,
  type Settlement,
  type StoreContext,
  StoreError,
} from "@countersign/sender/store";
import { deepEqual, ok } from "node:assert/strict";
import { virtualClock, type VirtualClock } from "@countersign/sender/testing";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { acceptanceOf, type DeliveryToAccept, quietContext } from "./acceptances.ts";

/** A store under test. */
export interface StoreUnderTest {
  /** An empty store that is not open yet. */
  readonly store: DeliveryStore;
  /** The same data again, as after a restart; absent where data ends with the store. The store is closed by then. */
  readonly again?: () => DeliveryStore;
  /** Removes what the store leaves behind. Every store is closed by then. */
  readonly dispose?: () => void | Promise<void>;
}

const SHOP = "shop/crm";
const MAIL = "shop/mail";
const APP = "app/crm";

const ENDPOINT = "https://example.com/a";
const DAY = 86_400_000;
const PATIENCE = { timeout: 10_000 };

/** Rounds that a store hands over and a test ends. */
class Rounds {
  readonly handedOver: DueDelivery[] = [];
  readonly settled: string[] = [];
  readonly #ends = new Map<string, (settlement: Settlement) => void>();

  /** Serves a destination; each delivery waits until the test settles it. */
  serve(store: DeliveryStore, destination: string, concurrency = 10): { stop(): Promise<void> } {
    return store.consume(destination, concurrency, {
      deliver: (due) => {
        this.handedOver.push(due);
        return new Promise((resolve) => this.#ends.set(due.delivery.id, resolve));
      },
      settled: ({ delivery }) => this.settled.push(delivery.id),
      lost: ({ delivery }) => this.settled.push(`lost ${delivery.id}`),
    });
  }

  ids(): readonly string[] {
    return this.handedOver.map(({ delivery }) => delivery.id);
  }

  /** Waits until these were handed over, in this order. */
  async toBe(...ids: readonly string[]): Promise<void> {
    await vi.waitFor(() => deepEqual(this.ids(), ids), PATIENCE);
  }

  /** Ends the round of a delivery, and waits until this is stored. */
  async end(id: string, settlement: Settlement): Promise<void> {
    const before = this.settled.length;
    this.#end(id, settlement);
    await vi.waitFor(() => ok(this.settled.slice(before).includes(id)), PATIENCE);
  }

  /** Ends every round that is under way, so that a store can close. */
  endAll(now: number): void {
    for (const id of this.#ends.keys()) this.#end(id, { state: "delivered", endedAt: now, attempts: [] });
  }

  #end(id: string, settlement: Settlement): void {
    this.#ends.get(id)?.(settlement);
    this.#ends.delete(id);
  }
}

function attempt(round: number, change: Partial<Attempt> = {}): Attempt {
  const times = { startedAt: 1_700_000_000_000 + round, durationMs: 12.5 };
  return { round, endpoint: ENDPOINT, ...times, outcome: "success", status: 200, response: "ok", ...change };
}

/**
 * What every {@link DeliveryStore} promises, as tests: call it at the top of a test file.
 *
 * @param name - The store, for the tests' titles.
 * @param make - Makes an empty store for each test.
 */
export function testDeliveryStore(name: string, make: () => StoreUnderTest | Promise<StoreUnderTest>): void {
  describe(`${name} keeps the contract of a DeliveryStore`, () => {
    let made: StoreUnderTest;
    let store: DeliveryStore;
    let clock: VirtualClock;
    let rounds: Rounds;
    let ended: string[];
    let now: number;

    const contextOf = (time: Clock): StoreContext => ({
      ...quietContext(time),
      ended: (id) => void ended.push(id),
    });

    beforeEach(async () => {
      clock = virtualClock("2026-03-01T12:00:00Z");
      now = clock.now();
      ended = [];
      rounds = new Rounds();
      made = await make();
      ({ store } = made);
      await store.open(contextOf(clock));
    });

    afterEach(async () => {
      const closing = store.close();
      rounds.endAll(clock.now());
      await closing;
      await made.dispose?.();
    });

    const accept = (...deliveries: readonly (Partial<DeliveryToAccept> & { readonly id: string })[]) =>
      store.accept(
        acceptanceOf(deliveries.map((delivery) => ({ destination: SHOP, acceptedAt: now, ...delivery }))),
      );
    const listed = async (filter: DeliveryFilter = {}): Promise<readonly string[]> =>
      (await store.list(filter)).map(({ id }) => id);
    const delivered = (...attempts: readonly Attempt[]): Settlement => ({
      state: "delivered",
      endedAt: clock.now(),
      attempts,
    });

    describe("accepting", () => {
      it("keeps every field of a call, its exact bytes once for all destinations", async () => {
        const [call] = acceptanceOf([{ id: "x", destination: SHOP, acceptedAt: now }]).calls;
        const body = Buffer.from('{"ä":"\u{1F600}"}');
        await store.accept({
          calls: [call].flatMap((one) => one ?? []),
          messages: [
            {
              call: 0,
              messageId: "m1",
              type: "track",
              source: "shop",
              identity: "ü1",
              event: "Bought",
              acceptedAt: now,
              body,
            },
          ],
          deliveries: [
            { id: "d1", destination: SHOP, message: 0 },
            { id: "d2", destination: MAIL, message: 0 },
          ],
        });
        for (const [id, destination] of [
          ["d1", SHOP],
          ["d2", MAIL],
        ] as const) {
          const found = await store.find(id, "shop");
          expect({ ...found, body: undefined }).toMatchObject({
            id,
            destination,
            messageId: "m1",
            type: "track",
            source: "shop",
            identity: "ü1",
            event: "Bought",
            acceptedAt: now,
            state: "pending",
            dueAt: now,
            attempts: [],
          });
          expect(Buffer.from(found?.body ?? [])).toEqual(body);
        }
        expect(await store.find("d3")).toBeUndefined();
      });

      it("takes calls without messages, and none at all", async () => {
        const { calls } = acceptanceOf([{ id: "x", destination: SHOP, acceptedAt: now }]);
        expect(await store.accept({ calls, messages: [], deliveries: [] })).toMatchObject({ repeats: [] });
        expect(await store.accept({ calls: [], messages: [], deliveries: [] })).toMatchObject({
          repeats: [],
        });
        expect(await listed()).toEqual([]);
        expect((await store.usage()).get("shop")).toBe(1);
      });

      it("counts the calls that count, by source", async () => {
        const { calls, messages, deliveries } = acceptanceOf(
          [SHOP, APP, SHOP].map((destination, index) => ({ id: `d${index}`, destination, acceptedAt: now })),
        );
        await store.accept({
          calls: calls.map((call, position) => ({ ...call, counted: position > 0 })),
          messages,
          deliveries,
        });
        const usage = await store.usage();
        expect([usage.get("shop"), usage.get("app")]).toEqual([1, 1]);
      });

      it("says how much of its limit it takes, more after it has accepted, or nothing where it has no limit", async () => {
        const before = await store.space?.();
        await accept(...Array.from({ length: 500 }, (_, index) => ({ id: `d${index}` })));
        const after = await store.space?.();
        expect(after === undefined).toBe(before === undefined);
        if (before === undefined || after === undefined) return;
        expect(after.limitBytes).toBe(before.limitBytes);
        expect(after.usedBytes).toBeGreaterThan(before.usedBytes);
        expect(after.usedBytes).toBeLessThanOrEqual(after.limitBytes);
      });

      it("stores the same ids once, when an acceptance is repeated whose outcome was not known", async () => {
        await accept({ id: "d1" }, { id: "d2" });
        await accept({ id: "d1" }, { id: "d2" });
        expect(await listed()).toEqual(["d2", "d1"]);
        expect((await store.usage()).get("shop")).toBe(2);
        rounds.serve(store, SHOP);
        await rounds.toBe("d1", "d2");
      });
    });

    describe("repeats", () => {
      const acceptUnique = (
        ...deliveries: readonly (Partial<DeliveryToAccept> & { readonly id: string })[]
      ) =>
        store.accept({
          ...acceptanceOf(
            deliveries.map((delivery) => ({ destination: SHOP, acceptedAt: now, ...delivery })),
          ),
          uniqueForMs: DAY,
        });

      it("are left out with their messages, deliveries and usage; the others are stored", async () => {
        expect((await acceptUnique({ id: "d1", key: "a" }, { id: "d2", key: "b" })).repeats).toEqual([]);
        const second = await acceptUnique(
          { id: "d3", key: "b" },
          { id: "d4", key: "c" },
          { id: "d5", key: "a" },
        );
        expect(second.repeats).toEqual([0, 2]);
        expect(await listed()).toEqual(["d4", "d2", "d1"]);
        expect((await store.usage()).get("shop")).toBe(3);
      });

      it("are found within one acceptance, too", async () => {
        const { repeats } = await acceptUnique(
          { id: "d1", key: "a" },
          { id: "d2", key: "a" },
          { id: "d3", key: "a" },
        );
        expect(repeats).toEqual([1, 2]);
        expect(await listed()).toEqual(["d1"]);
      });

      it("are found within one acceptance however short the time is, and not in the next when there is none", async () => {
        const about = { destination: SHOP, acceptedAt: now, key: "a" };
        const both = (from: number) => [from, from + 1].map((index) => ({ ...about, id: `d${index}` }));
        for (const first of [1, 3]) {
          const { repeats } = await store.accept({ ...acceptanceOf(both(first)), uniqueForMs: 0 });
          expect([first, repeats]).toEqual([first, [1]]);
        }
        expect(await listed()).toEqual(["d3", "d1"]);
      });

      it("are found among calls that are accepted at once", async () => {
        const accepted = await Promise.all(
          Array.from({ length: 20 }, (_, index) => acceptUnique({ id: `d${index}`, key: "a" })),
        );
        expect(accepted.filter(({ repeats }) => repeats.length === 0)).toHaveLength(1);
        expect(await listed()).toHaveLength(1);
      });

      it("are told when an acceptance is repeated whose outcome was not known, though its other calls are stored", async () => {
        await acceptUnique({ id: "d1", key: "a" });
        for (let time = 0; time < 2; time += 1)
          expect((await acceptUnique({ id: "d2", key: "a" }, { id: "d3" })).repeats).toEqual([0]);
        expect(await listed()).toEqual(["d3", "d1"]);
        expect((await store.usage()).get("shop")).toBe(2);
      });

      it("are never calls without a key, of another source, or with another key", async () => {
        await acceptUnique({ id: "d1", key: "a" }, { id: "d2" });
        const { repeats } = await acceptUnique(
          { id: "d3" },
          { id: "d4", key: "a", destination: APP },
          { id: "d5", key: "A" },
          { id: "d6", key: "a " },
        );
        expect(repeats).toEqual([]);
      });

      it("are new calls again after the time", async () => {
        await acceptUnique({ id: "d1", key: "a" });
        expect((await acceptUnique({ id: "d2", key: "a", acceptedAt: now + DAY - 1 })).repeats).toEqual([0]);
        expect((await acceptUnique({ id: "d3", key: "a", acceptedAt: now + DAY })).repeats).toEqual([]);
        expect((await acceptUnique({ id: "d4", key: "a", acceptedAt: now + DAY + 1 })).repeats).toEqual([0]);
      });

      it("are not looked for, nor remembered, when no time is given", async () => {
        await accept({ id: "d1", key: "a" });
        await acceptUnique({ id: "d2", key: "a" });
        expect((await accept({ id: "d3", key: "a" })).repeats).toEqual([]);
        expect(await listed()).toEqual(["d3", "d2", "d1"]);
      });

      it("are known after a restart", async () => {
        if (made.again === undefined) return;
        await acceptUnique({ id: "d1", key: "a" });
        await store.close();
        store = made.again();
        await store.open(contextOf(clock));
        expect((await acceptUnique({ id: "d2", key: "a" })).repeats).toEqual([0]);
      });

      it("are known for the longest time that was asked for, also when another is asked for after a restart", async () => {
        if (made.again === undefined) return;
        const acceptFor = (uniqueForMs: number, id: string, key: string) => {
          const about = { id, key, destination: SHOP, acceptedAt: clock.now() };
          return store.accept({ ...acceptanceOf([about]), uniqueForMs });
        };
        await acceptFor(7 * DAY, "d1", "a");
        await store.close();
        await clock.advance(3 * DAY);
        store = made.again();
        await store.open(contextOf(clock));

        await acceptFor(DAY, "other", "other");
        // What is removed at the same time as keys, as soon as a store looks for what is outdated.
        const [old] = acceptanceOf([{ id: "old", destination: SHOP, acceptedAt: now - 1_000 * DAY }]).calls;
        const skipped = { id: "old", reason: "no_destination" } as const;
        const calls = [old].flatMap((call) => (call === undefined ? [] : { ...call, skipped }));
        await store.accept({ calls, messages: [], deliveries: [] });
        let others = 0;
        await vi.waitFor(async () => {
          others += 1;
          await acceptFor(DAY, `other ${others}`, `other ${others}`);
          await clock.advance("1m");
          deepEqual(await store.skipped({}), []);
        }, PATIENCE);
        expect((await acceptFor(7 * DAY, "d2", "a")).repeats).toEqual([0]);
      });
    });

    describe("handing over", () => {
      it("gives what is due, the longest due first, at most so many at a time", async () => {
        await accept(
          { id: "d3", acceptedAt: now - 1_000 },
          { id: "d1", acceptedAt: now - 3_000 },
          { id: "d2", acceptedAt: now - 2_000 },
          { id: "mail", destination: MAIL },
        );
        rounds.serve(store, SHOP, 2);
        await rounds.toBe("d1", "d2");
        await rounds.end("d2", delivered());
        await rounds.toBe("d1", "d2", "d3");
        expect(rounds.handedOver[0]).toMatchObject({ rounds: 0, dueAt: now - 3_000, progress: {} });
      });

      it("tells once that a delivery has ended, after it is stored", async () => {
        await accept({ id: "d1" });
        rounds.serve(store, SHOP);
        await rounds.toBe("d1");
        expect(ended).toEqual([]);
        await rounds.end("d1", delivered(attempt(1)));
        expect(ended).toContain("d1");
        expect(await store.find("d1")).toMatchObject({ state: "delivered", endedAt: now });
      });

      it("gives a delivery again when it is due again, with what is known of its endpoints", async () => {
        await accept({ id: "d1" });
        rounds.serve(store, SHOP);
        await rounds.toBe("d1");
        // A URL is kept as it was given, and a store must not change a text.
        const progress = {
          [ENDPOINT]: { rejected: true as const },
          "https://b/\uF8FF": { rejected: true as const },
          "https://c/": { notBefore: now + 9 },
        };
        await rounds.end("d1", {
          state: "pending",
          dueAt: now + 5_000,
          rounds: 1,
          progress,
          attempts: [attempt(1, { status: 503, outcome: "server_error" })],
        });
        expect(await store.find("d1")).toMatchObject({ state: "pending", dueAt: now + 5_000 });
        void clock.advance("5s");
        await rounds.toBe("d1", "d1");
        expect(clock.now()).toBe(now + 5_000);
        expect(rounds.handedOver[1]).toMatchObject({ rounds: 1, dueAt: now + 5_000, progress });
      });

      it("stops handing over when it is told to, and resolves when nothing is under way", async () => {
        await accept({ id: "d1" }, { id: "d2" });
        const consumer = rounds.serve(store, SHOP, 1);
        await rounds.toBe("d1");
        let isStopped = false;
        const stopped = consumer.stop().then(() => (isStopped = true));
        await rounds.end("d1", delivered());
        await stopped;
        expect(isStopped).toBe(true);
        expect(rounds.ids()).toEqual(["d1"]);
        await consumer.stop();
        rounds.serve(store, SHOP, 1);
        await rounds.toBe("d1", "d2");
      });

      it("continues after a restart with what was pending, handed over or not", async () => {
        if (made.again === undefined) return;
        await accept({ id: "d1" }, { id: "d2", acceptedAt: now + 1 });
        rounds.serve(store, SHOP, 1);
        await rounds.toBe("d1");
        const progress = { [ENDPOINT]: {} };
        const due = { state: "pending", dueAt: now, rounds: 1, progress } as const;
        await rounds.end("d1", { ...due, attempts: [attempt(1, { outcome: "timeout", status: undefined })] });
        const closing = store.close();
        rounds.endAll(now);
        await closing;
        await clock.advance(10);
        store = made.again();
        const next = new Rounds();
        await store.open(contextOf(clock));
        expect((await store.find("d1"))?.attempts.length).toBeGreaterThan(0);
        rounds = next;
        rounds.serve(store, SHOP, 10);
        await expect.poll(() => rounds.ids(), PATIENCE).toContain("d2");
      });
    });

    describe("the log", () => {
      const full = attempt(3, {
        outcome: "server_error",
        status: 503,
        response: "später \u{1F600}",
        cut: true,
        fault: "status:503",
        requestHeaders: { "X-Signature": "ab", "User-Agent": "Countersign/1.0" },
        responseHeaders: { "content-type": "text/plain", via: "a, b" },
      });
      const bare = attempt(1, {
        outcome: "network",
        status: undefined,
        code: "ECONNREFUSED",
        message: "refused",
        response: "",
      });

      it("has texts of others whole, also after a NUL in them", async () => {
        const texts = { messageId: "m\0id", identity: "\0user", event: "Bought\0twice" };
        const failure = { code: "ERR\0PROXY", message: "said\0no" };
        const binary = (number: number) =>
          attempt(number, { outcome: "rejected", response: "\0PNG\0", ...failure });
        await accept({ id: "d1", ...texts });
        rounds.serve(store, SHOP);
        await rounds.toBe("d1");
        const progress = { [ENDPOINT]: {} };
        await rounds.end("d1", {
          state: "pending",
          dueAt: now,
          rounds: 1,
          progress,
          attempts: [binary(1)],
        });
        await rounds.toBe("d1", "d1");
        await rounds.end("d1", { state: "failed", endedAt: now, attempts: [binary(2)] });
        const found = await store.find("d1");
        expect(found).toMatchObject(texts);
        expect(found?.attempts).toMatchObject([
          { response: "\0PNG\0", ...failure },
          { response: "\0PNG\0", ...failure },
        ]);
        expect((await store.list({ event: texts.event }))[0]).toMatchObject({ ...texts, last: failure });
      });

      it("has every attempt with every field, oldest first; a summary has the last", async () => {
        await accept({ id: "d1" });
        rounds.serve(store, SHOP);
        await rounds.toBe("d1");
        const progress = { [ENDPOINT]: {} };
        await rounds.end("d1", { state: "pending", dueAt: now, rounds: 1, progress, attempts: [bare] });
        await rounds.toBe("d1", "d1");
        const two = [attempt(2, { endpoint: "https://b/" }), attempt(2)];
        await rounds.end("d1", { state: "pending", dueAt: now, rounds: 2, progress, attempts: two });
        await rounds.toBe("d1", "d1", "d1");
        await rounds.end("d1", { state: "failed", endedAt: now, attempts: [full] });

        const found = await store.find("d1");
        expect(found?.attempts).toEqual(
          [bare, ...two, full].map((one) => expect.objectContaining(one) as Attempt),
        );
        const [summary] = await store.list({});
        const { round, endpoint, startedAt, durationMs, outcome, status, fault } = full;
        expect(summary).toMatchObject({
          attempts: 4,
          last: { round, endpoint, startedAt, durationMs, outcome, status, fault },
        });
        expect(summary?.last).not.toHaveProperty("response");
        expect(summary).not.toHaveProperty("body");
      });

      it("has the attempts of many rounds within one millisecond in their order", async () => {
        await accept({ id: "d1" });
        rounds.serve(store, SHOP);
        const handedOver: string[] = [];
        for (let round = 1; round <= 12; round += 1) {
          handedOver.push("d1");
          await rounds.toBe(...handedOver);
          const attempts = [attempt(round), attempt(round, { endpoint: "https://b/" })];
          const progress = { [ENDPOINT]: {} };
          await rounds.end("d1", { state: "pending", dueAt: now, rounds: round, progress, attempts });
        }
        const { attempts = [] } = (await store.find("d1")) ?? {};
        expect(attempts.map(({ round }) => round)).toEqual(
          attempts.map((_, index) => Math.floor(index / 2) + 1),
        );
        expect(attempts).toHaveLength(24);
      });

      it("keeps what a round without attempts changes, and the attempts before", async () => {
        await accept({ id: "d1" });
        rounds.serve(store, SHOP);
        await rounds.toBe("d1");
        const progress = { [ENDPOINT]: {} };
        await rounds.end("d1", { state: "pending", dueAt: now, rounds: 1, progress, attempts: [full] });
        await rounds.toBe("d1", "d1");
        await rounds.end("d1", { state: "expired", endedAt: now, attempts: [] });
        expect(await store.find("d1")).toMatchObject({ state: "expired", attempts: [full] });
      });
    });

    describe("a waiting delivery", () => {
      it("is hastened: it is due now, for endpoints that asked to be called later, too", async () => {
        await accept({ id: "d1" });
        rounds.serve(store, SHOP);
        await rounds.toBe("d1");
        const progress = {
          [ENDPOINT]: { notBefore: now + 60_000 },
          "https://b/": { rejected: true as const },
        };
        await rounds.end("d1", { state: "pending", dueAt: now + 60_000, rounds: 1, progress, attempts: [] });
        expect(await store.hasten("d1", "shop")).toBe(true);
        await rounds.toBe("d1", "d1");
        const { progress: left, rounds: done } = rounds.handedOver[1] as DueDelivery;
        expect(done).toBe(1);
        expect(left[ENDPOINT]?.notBefore).toBeUndefined();
        expect(left["https://b/"]).toMatchObject({ rejected: true });
      });

      it("that is due already keeps its place when it is hastened", async () => {
        await accept({ id: "d1", acceptedAt: now - 2_000 }, { id: "d2", acceptedAt: now - 1_000 });
        expect(await store.hasten("d1")).toBe(true);
        rounds.serve(store, SHOP, 1);
        await rounds.toBe("d1");
        expect(rounds.handedOver[0]?.dueAt).toBe(now - 2_000);
        await rounds.end("d1", delivered());
        await rounds.toBe("d1", "d2");
        await rounds.end("d2", delivered());
      });

      it("is not hastened while it is delivered, when it has ended, or when it is not known", async () => {
        await accept({ id: "d1" });
        rounds.serve(store, SHOP);
        await rounds.toBe("d1");
        expect(await store.hasten("d1")).toBe(false);
        await rounds.end("d1", delivered());
        expect(await store.hasten("d1")).toBe(false);
        expect(await store.hasten("nothing")).toBe(false);
        expect(rounds.ids()).toEqual(["d1"]);
      });

      it("is not hastened while it is delivered and its consumer stops, as when its settings change", async () => {
        await accept({ id: "d1" });
        const consumer = rounds.serve(store, SHOP);
        await rounds.toBe("d1");
        const stopped = consumer.stop();
        expect(await store.hasten("d1")).toBe(false);
        await rounds.end("d1", delivered());
        await stopped;
      });
    });

    describe("waiting deliveries", () => {
      const of = (...ids: readonly string[]) =>
        ids.map((id) => ({ id, source: id.startsWith("app") ? "app" : "shop" }));

      /** Accepts them, and has each wait for an hour after a first round. */
      async function acceptWaiting(...ids: readonly string[]): Promise<void> {
        await accept(...ids.map((id) => ({ id, destination: id.startsWith("app") ? APP : SHOP })));
        const consumers = [SHOP, APP].map((destination) => rounds.serve(store, destination, ids.length));
        await expect.poll(() => rounds.ids().toSorted(), PATIENCE).toEqual(ids.toSorted());
        const progress = {
          [ENDPOINT]: { notBefore: now + 3_600_000 },
          "https://b/": { rejected: true as const },
        };
        const later = {
          state: "pending",
          dueAt: now + 3_600_000,
          rounds: 3,
          progress,
          attempts: [],
        } as const;
        for (const id of ids) await rounds.end(id, later);
        await Promise.all(consumers.map((consumer) => consumer.stop()));
        rounds.handedOver.length = 0;
      }

      it("are hastened together, of several destinations, with what is known of their endpoints", async () => {
        await acceptWaiting("d1", "d2", "app3", "d4");
        expect(await store.hastenAll(of("d1", "app3", "d2"), now)).toBe(3);
        rounds.serve(store, SHOP);
        rounds.serve(store, APP);
        await expect.poll(() => rounds.ids().toSorted(), PATIENCE).toEqual(["app3", "d1", "d2"]);
        for (const { progress, rounds: done, dueAt } of rounds.handedOver) {
          expect([done, dueAt]).toEqual([3, now]);
          expect(progress[ENDPOINT]?.notBefore).toBeUndefined();
          expect(progress["https://b/"]).toMatchObject({ rejected: true });
        }
        expect(await store.find("d4")).toMatchObject({ state: "pending", dueAt: now + 3_600_000 });
      });

      it("that are hastened to one time start in the order in which they were accepted, as many at a time as may", async () => {
        const ids = Array.from({ length: 9 }, (_, index) => `d${index}`);
        await acceptWaiting(...ids);
        // The last ones are hastened first.
        for (const some of [ids.slice(4), ids.slice(0, 4)]) await store.hastenAll(of(...some), now);
        rounds.serve(store, SHOP, 2);
        for (const [index, id] of ids.entries()) {
          await rounds.toBe(...ids.slice(0, index + 2));
          await rounds.end(id, delivered());
        }
        expect(rounds.ids()).toEqual(ids);
      });

      it("are left out when they are not known, are delivered, have ended, or are due", async () => {
        await acceptWaiting("d1", "d2", "d3");
        expect(await store.hastenAll([], now)).toBe(0);
        expect(await store.hastenAll(of("d1", "d2"), now)).toBe(2);
        // A request that is repeated changes nothing.
        expect(await store.hastenAll(of("d1", "d2"), now)).toBe(0);
        rounds.serve(store, SHOP, 1);
        await rounds.toBe("d1");
        expect(await store.hastenAll(of("d1"), now - 1)).toBe(0);
        await rounds.end("d1", delivered());
        await rounds.toBe("d1", "d2");
        expect(await store.hastenAll(of("d1", "d2", "none", "d3"), now)).toBe(1);
        await rounds.end("d2", delivered());
        await rounds.toBe("d1", "d2", "d3");
      });

      it("are hastened once by two callers of which the first to begin comes last: what the other made due is due", async () => {
        await acceptWaiting("d1", "d2");
        await clock.advance(5);
        expect(await store.hastenAll(of("d1"), now + 5)).toBe(1);
        expect(await store.hastenAll(of("d1", "d2"), now)).toBe(1);
        expect(await store.find("d1")).toMatchObject({ dueAt: now + 5 });
        expect(await store.find("d2")).toMatchObject({ dueAt: now });
      });
    });

    describe("repeating a delivery", () => {
      it("sends the same message to the same destination, as a new delivery", async () => {
        await accept({ id: "d1", identity: "u1", event: "Bought" });
        expect(await store.repeat("d1", { id: "d2", acceptedAt: now + 5 })).toBe(true);
        const [original, next] = [await store.find("d1"), await store.find("d2")];
        expect(next).toMatchObject({
          destination: SHOP,
          identity: "u1",
          event: "Bought",
          messageId: "m-d1",
          acceptedAt: now + 5,
          state: "pending",
          resendOf: "d1",
        });
        expect(Buffer.from(next?.body ?? [])).toEqual(Buffer.from(original?.body ?? []));
        expect(await listed()).toEqual(["d2", "d1"]);
        await clock.advance(5);
        rounds.serve(store, SHOP);
        await rounds.toBe("d1", "d2");
      });

      it("sends another message when it is given one; the original keeps its own", async () => {
        await accept({ id: "d1" });
        const message = {
          messageId: "m9",
          type: "identify",
          identity: "u9",
          body: Buffer.from("{9}"),
        } as const;
        expect(await store.repeat("d1", { id: "d2", acceptedAt: now, message })).toBe(true);
        const next = await store.find("d2");
        expect(next).toMatchObject({ messageId: "m9", type: "identify", identity: "u9", source: "shop" });
        expect(next?.event).toBeUndefined();
        expect(Buffer.from(next?.body ?? []).toString()).toBe("{9}");
        expect(Buffer.from((await store.find("d1"))?.body ?? []).toString()).toContain('"d1"');
        expect((await store.counts()).get(SHOP)).toMatchObject({ pending: 2 });
      });

      it("is stored once under one id, and is not said to be stored twice", async () => {
        await accept({ id: "d1" }, { id: "d2" });
        const next = { id: "d3", acceptedAt: now + 1 };
        const [first, ...others] = ["d1", "d1", "d2"].map((id) => store.repeat(id, next, "shop"));
        expect(await first).toBe(true);
        for (const other of others) await expect(other).rejects.toBeInstanceOf(StoreError);
        await expect(store.repeat("d1", next)).rejects.toBeInstanceOf(StoreError);
        expect(await listed()).toEqual(["d3", "d2", "d1"]);
        expect(await store.find("d3")).toMatchObject({ resendOf: "d1" });
        expect((await store.counts()).get(SHOP)).toMatchObject({ pending: 3 });
      });

      it("is refused under the id of another delivery, also of one that has ended on an earlier day", async () => {
        await accept({ id: "d1" }, { id: "d2" });
        rounds.serve(store, SHOP);
        await rounds.toBe("d1", "d2");
        await rounds.end("d2", delivered());
        for (const id of ["d1", "d2"]) {
          const next = { id, acceptedAt: now + 2 * DAY };
          await expect(store.repeat("d1", next)).rejects.toBeInstanceOf(StoreError);
        }
        expect(await listed()).toEqual(["d2", "d1"]);
        expect(await store.find("d2")).toMatchObject({ acceptedAt: now, state: "delivered" });
        expect((await store.counts()).get(SHOP)).toMatchObject({ pending: 1, delivered: 1 });
      });

      it("under one id in two sources at the same instant leaves no delivery that nobody can see, find or repeat", async () => {
        await accept({ id: "d1" }, { id: "d2", destination: APP });
        // What two processes may have stored so: that of the later source first.
        await accept({ id: "same", messageId: "m-shop" });
        await accept({ id: "same", messageId: "m-app", destination: APP });
        const stored = (await store.list({})).filter(({ id }) => id === "same");
        expect(await store.count({ messageId: ["m-shop", "m-app"] })).toBe(stored.length);
        expect(await store.list({ q: "same" })).toHaveLength(stored.length);
        const sources = stored.map(({ source }) => source).toSorted();
        expect(await store.find("same")).toMatchObject({ source: sources[0] });
        for (const { source, messageId } of stored) {
          expect(await store.find("same", source)).toMatchObject({ source, messageId });
          expect(await store.repeat("same", { id: `of-${source}`, acceptedAt: now }, source)).toBe(true);
          expect(await store.find(`of-${source}`)).toMatchObject({ source, messageId, resendOf: "same" });
        }
      });

      it("under one id in two sources is tried where the id alone finds it: the other of both would be tried, and nobody sees which", async () => {
        await accept({ id: "same", messageId: "m-shop" });
        await accept({ id: "same", messageId: "m-app", destination: APP });
        const found = await store.find("same");
        rounds.serve(store, found?.destination ?? "");
        await rounds.toBe("same");
        await rounds.end("same", delivered());
        expect(await store.find("same")).toMatchObject({ source: found?.source, state: "delivered" });
        expect(await store.hasten("same")).toBe(false);
        for (const { source } of await store.list({ state: "pending" }))
          expect(await store.hasten("same", source)).toBe(true);
      });

      it("is refused when it is not known", async () => {
        expect(await store.repeat("nothing", { id: "d2", acceptedAt: now })).toBe(false);
        expect(await listed()).toEqual([]);
      });

      it("works when the original was removed meanwhile", async () => {
        await accept({ id: "d1" });
        await store.repeat("d1", { id: "d2", acceptedAt: now });
        rounds.serve(store, SHOP);
        await rounds.toBe("d1", "d2");
        await rounds.end("d1", delivered());
        expect(await store.remove({})).toBe(1);
        expect(Buffer.from((await store.find("d2"))?.body ?? []).toString()).toContain('"d1"');
        await rounds.end("d2", delivered());
        expect(await store.remove({})).toBe(1);
      });
    });

    describe("lists", () => {
      const EVENTS = ["Signed Up", "Signed Out", "Bought", "signed up"];
      const TYPES: readonly MessageType[] = ["track", "identify", "page"];
      const STATES: readonly DeliveryState[] = ["delivered", "failed", "expired", "pending"];

      /** 120 deliveries of every state and kind, several in each millisecond. */
      async function acceptMany(): Promise<void> {
        const many = Array.from({ length: 120 }, (_, index) => {
          const type = TYPES[index % 3] ?? "track";
          return {
            id: `d${String(index).padStart(3, "0")}`,
            destination: [SHOP, MAIL, APP][index % 7 === 0 ? 2 : index % 2] ?? SHOP,
            acceptedAt: now - 60_000 + Math.floor(index / 4) * 10,
            messageId: `m${index % 40}`,
            type,
            identity: `u${index % 9}`,
            ...(type === "track" && { event: EVENTS[Math.floor(index / 3) % 4] ?? "" }),
          };
        });
        await store.accept(acceptanceOf(many));
        for (const destination of [SHOP, MAIL, APP]) rounds.serve(store, destination, 200);
        await expect.poll(() => rounds.handedOver.length, PATIENCE).toBe(120);
        await Promise.all(many.map(async ({ id }, index) => settle(id, index)));
      }

      async function settle(id: string, index: number): Promise<void> {
        const state = STATES[index % 5] ?? "delivered";
        const endpoint = `https://example.com/${index % 2}`;
        const last =
          state === "delivered"
            ? attempt(1, { endpoint, status: index % 2 === 0 ? 200 : 204 })
            : state === "expired"
              ? attempt(1, { endpoint, outcome: "timeout", status: undefined })
              : attempt(1, {
                  endpoint,
                  outcome: state === "failed" ? "rejected" : "server_error",
                  status: 410 + index,
                });
        const progress = { [endpoint]: {} };
        await rounds.end(
          id,
          state === "pending"
            ? { state, dueAt: now + 60_000 + index, rounds: 1, progress, attempts: [last] }
            : { state, endedAt: now, attempts: [last] },
        );
      }

      it("have exactly what matches, newest first, and count it", { timeout: 60_000 }, async () => {
        await acceptMany();
        const all = await store.list({ limit: 1_000 });
        expect(all).toHaveLength(120);
        expect(all).toEqual(all.toSorted(newestFirst));
        const since = now - 60_000 + 100;
        const filters: readonly DeliveryFilter[] = [
          ...STATES.map((state) => ({ state })),
          { state: ["failed", "expired"] },
          { source: "shop" },
          { source: ["app", "shop"] },
          { source: "sho" },
          { source: ["sho", "app"] },
          { destination: SHOP },
          { destination: [MAIL, APP], state: "delivered" },
          { type: "identify" },
          { type: ["track", "page"], source: "app" },
          { messageId: "m7" },
          { messageId: ["m7", "m8", "none"] },
          { identity: "u3" },
          { identity: "u3", state: "failed" },
          { identity: ["u3", "u4"], type: "track", destination: MAIL },
          { event: "Bought" },
          { event: ["Bought", "Signed Up"], outcome: "success" },
          { outcome: "timeout" },
          { outcome: ["rejected", "server_error"], since },
          { outcome: "success", since, until: since + 50 },
          { status: 200 },
          { status: [204, 411, 416] },
          { status: 1e300 },
          { status: [200, -1e300, 2 ** 63] },
          { status: 411, state: "failed" },
          { endpoint: "https://example.com/1" },
          { endpoint: "https://example.com/0", state: "delivered", event: "Signed Up" },
          { q: "d007" },
          { q: "m7" },
          { q: "u3" },
          { q: "Signed" },
          { q: "Signed", state: "delivered", since },
          { q: "signed" },
          { q: "igned" },
          { q: "nothing" },
          { since },
          { until: since },
          { since, until: since + 10 },
          { since, until: since + 0.5 },
          { since: since + 10, until: since },
          { state: "delivered", since },
          { state: [] },
        ];
        for (const filter of filters) {
          const wanted = all.filter((summary) => matchesFilter(summary, filter)).map(({ id }) => id);
          expect([filter, await listed({ ...filter, limit: 1_000 })]).toEqual([filter, wanted]);
          expect([filter, await store.count(filter)]).toEqual([filter, wanted.length]);
          expect([filter, await listed({ ...filter, limit: 3 })]).toEqual([filter, wanted.slice(0, 3)]);
          const [first, second] = wanted.toReversed();
          const oldest = (await store.list({ ...filter, limit: 2 }, "oldest first")).map(({ id }) => id);
          expect([filter, oldest]).toEqual([filter, [first, second].flatMap((id) => id ?? [])]);
        }
      });

      it("find every event whose name begins with a text, whatever comes behind it, and whatever stands next to it", async () => {
        const endings = [
          "",
          "\0b",
          "\u0001",
          "\ud83d",
          "\u{1F389}",
          "\u{10FFFF}",
          "\u{10FFFF}".repeat(6),
          "z",
        ];
        const names = ["", "a", "\ud7ff", "\u{10FFFF}"].flatMap((start) => endings.map((end) => start + end));
        const texts = { messageId: "m", identity: "u", type: "track" as const };
        await accept(...names.map((event, index) => ({ ...texts, event, id: `d${index}` })));
        const calls = names.map((event, index) => {
          const skipped = { id: `s${index}`, reason: "integrations" as const };
          return { ...texts, source: "shop", event, acceptedAt: now, counted: true, skipped };
        });
        await store.accept({ calls, messages: [], deliveries: [] });
        const kept = (text: string): string => Buffer.from(text).toString();
        for (const q of ["", "a", "a\0", "\ud7ff", "\u{10FFFF}", "\u{10FFFF}\u{10FFFF}", "a\ud83d", "none"]) {
          const found = names.flatMap((name, index) =>
            kept(name).startsWith(kept(q)) ? [String(index)] : [],
          );
          const ids = async (page: Promise<readonly { readonly id: string }[]>): Promise<readonly string[]> =>
            (await page).map(({ id }) => id.slice(1)).toSorted((a, b) => Number(a) - Number(b));
          expect([q, await ids(store.list({ q }))]).toEqual([q, found]);
          expect([q, await store.count({ q })]).toEqual([q, found.length]);
          expect([q, await ids(store.skipped({ q }))]).toEqual([q, found]);
        }
        const halves = names.filter((name) => name === "a\ud83d" || name === "\ud83d");
        expect(await store.count({ event: halves })).toBe(2);
      });

      it("find events by the beginning of their names, however many names there are", async () => {
        const ids = Array.from({ length: 600 }, (_, index) => `d${String(index).padStart(3, "0")}`);
        await accept(...ids.map((id) => ({ id, type: "track" as const, event: `Event ${id}` })));
        expect(await store.count({ q: "Event" })).toBe(600);
        expect(await listed({ q: "Event", limit: 3 })).toEqual(["d599", "d598", "d597"]);
        expect(await listed({ q: "Event d59", state: "pending", limit: 2 })).toEqual(["d599", "d598"]);
        expect(await store.count({ q: "Event", state: "delivered" })).toBe(0);
      });

      it("are read in pages, each after the cursor of the last", { timeout: 60_000 }, async () => {
        await acceptMany();
        for (const filter of [{}, { state: "delivered" }, { identity: "u3" }, { q: "Signed" }] as const) {
          const all = await listed({ ...filter, limit: 1_000 });
          for (const order of ["newest first", "oldest first"] as const) {
            const read: string[] = [];
            for (let page = await store.list({ ...filter, limit: 7 }, order); page.length > 0;) {
              read.push(...page.map(({ id }) => id));
              const last = page.at(-1);
              const after = last && cursorOf(last);
              page = after === undefined ? [] : await store.list({ ...filter, limit: 7, after }, order);
            }
            expect([order, read]).toEqual([order, order === "newest first" ? all : all.toReversed()]);
          }
        }
        // A resend of what is older begins with a cursor of now: what came since would be sent, too.
        const [since, until] = [now - 59_900, now - 59_800];
        const older = await listed({ since, until, limit: 1_000 });
        const ofNow = cursorOf({ acceptedAt: now, id: "d" });
        expect(older).toHaveLength(40);
        expect(await listed({ since, until, after: ofNow, limit: 1_000 })).toEqual(older);
        const before = cursorOf({ acceptedAt: 0, id: "d" });
        const oldestFirst = await store.list({ since, until, after: before, limit: 1_000 }, "oldest first");
        expect(oldestFirst.map(({ id }) => id)).toEqual(older.toReversed());
        const last = cursorOf({ acceptedAt: since, id: "d" });
        expect(await store.count({ since, until, after: last, limit: 1 })).toBe(40);
      });

      it("continue after a row that was removed", { timeout: 60_000 }, async () => {
        await acceptMany();
        const page = await store.list({ state: "delivered", limit: 5 });
        const after = cursorOf(page.at(-1) ?? { acceptedAt: 0, id: "" });
        const rest = await listed({ state: "delivered", after, limit: 1_000 });
        expect(await store.remove({ state: "delivered", limit: 5 })).toBe(5);
        expect(await listed({ state: "delivered", after, limit: 1_000 })).toEqual(rest);
      });

      it("refuse what is no cursor", async () => {
        await expect(store.list({ after: "nothing" })).rejects.toThrow(/not a cursor/u);
      });

      it("have nothing that is not a delivery that was accepted", async () => {
        expect(await listed()).toEqual([]);
        expect(await store.count({})).toBe(0);
        expect(await store.count({ q: "x" })).toBe(0);
      });
    });

    describe("removing", () => {
      it("takes ended deliveries that match, the newest first, and never pending ones", async () => {
        await accept({ id: "d1" }, { id: "d2" }, { id: "d3" }, { id: "d4", destination: MAIL }, { id: "d5" });
        rounds.serve(store, SHOP);
        rounds.serve(store, MAIL);
        await expect.poll(() => rounds.handedOver.length, PATIENCE).toBe(5);
        for (const id of ["d1", "d2", "d3", "d4"]) await rounds.end(id, delivered(attempt(1)));
        expect(await store.remove({ state: "pending" })).toBe(0);
        expect(await store.remove({ destination: SHOP, limit: 2 })).toBe(2);
        expect(await listed()).toEqual(["d5", "d4", "d1"]);
        expect(await store.find("d3")).toBeUndefined();
        expect(await store.remove({ state: ["failed", "pending"] })).toBe(0);
        expect(await store.remove({})).toBe(2);
        expect(await listed()).toEqual(["d5"]);
        expect((await store.counts()).get(SHOP)).toMatchObject({ pending: 1, delivered: 0 });
        expect(await store.count({})).toBe(1);
      });

      it.each(["waits", "is being delivered", "has ended"])(
        "leaves the bytes of a message that another delivery sends, which %s",
        async (other) => {
          const one = acceptanceOf([{ id: "d1", destination: SHOP, acceptedAt: now }]);
          const also = { id: "d2", destination: MAIL, message: 0 };
          await store.accept({ ...one, deliveries: [...one.deliveries, also] });
          rounds.serve(store, SHOP);
          await rounds.toBe("d1");
          await rounds.end("d1", delivered());
          if (other !== "waits") {
            rounds.serve(store, MAIL);
            await rounds.toBe("d1", "d2");
          }
          if (other === "has ended") await rounds.end("d2", delivered());
          expect(await store.remove({ destination: SHOP })).toBe(1);
          const [message] = one.messages;
          expect(Buffer.from((await store.find("d2"))?.body ?? [])).toEqual(message?.body);
        },
      );

      it("leaves a delivered copy for as long as the delivery that failed, so that a resend knows of it", async () => {
        await accept({ id: "failed" }, { id: "delivered" }, { id: "older", acceptedAt: now - 1 });
        for (const id of ["failed", "delivered"])
          await store.repeat(id, { id: `r1-${id}`, acceptedAt: now + 1 });
        await store.repeat("failed", { id: "r2-failed", acceptedAt: now + 1 });
        await clock.advance(1);
        rounds.serve(store, SHOP);
        await expect.poll(() => rounds.handedOver.length, PATIENCE).toBe(6);
        for (const id of ["delivered", "older", "r1-failed", "r1-delivered"])
          await rounds.end(id, delivered());
        for (const id of ["failed", "r2-failed"])
          await rounds.end(id, { state: "failed", endedAt: clock.now(), attempts: [] });
        expect(await store.remove({ state: "delivered", limit: 2 })).toBe(2);
        expect(await store.remove({ state: "delivered", limit: 2 })).toBe(1);
        expect(await store.remove({ state: "delivered" })).toBe(0);
        expect(await listed()).toEqual(["r2-failed", "r1-failed", "failed"]);
        expect(await store.remove({})).toBe(2);
        expect(await store.remove({})).toBe(1);
        expect(await listed()).toEqual([]);
      });
    });

    describe("counts", () => {
      it("are by destination and state, with the oldest pending one and when the next is due", async () => {
        await accept(
          { id: "d1", acceptedAt: now - 3_000 },
          { id: "d2", acceptedAt: now - 2_000, type: "page" },
          { id: "d3", acceptedAt: now - 1_000 },
          { id: "m1", destination: MAIL },
        );
        rounds.serve(store, SHOP, 1);
        await rounds.toBe("d1");
        const next = { state: "pending", dueAt: now + 7_000, rounds: 1, progress: {}, attempts: [] } as const;
        await rounds.end("d1", next);
        const counts = await store.counts();
        expect(counts.get(SHOP)).toMatchObject({
          pending: 3,
          delivered: 0,
          oldestPendingAt: now - 3_000,
          nextDueAt: now - 2_000,
        });
        expect(counts.get(MAIL)).toMatchObject({ pending: 1, failed: 0, oldestPendingAt: now });
        await rounds.toBe("d1", "d2");
        await rounds.end("d2", { state: "failed", endedAt: now, attempts: [] });
        await rounds.toBe("d1", "d2", "d3");
        await rounds.end("d3", { state: "expired", endedAt: now, attempts: [] });
        const later = (await store.counts()).get(SHOP);
        expect(later).toMatchObject({ pending: 1, failed: 1, expired: 1, nextDueAt: now + 7_000 });
      });
    });

    describe("skipped calls", () => {
      const call = (index: number, reason: "integrations" | "blocked_event", source = "shop") => ({
        source,
        messageId: `m${index}`,
        type: "track" as const,
        identity: `u${index % 2}`,
        event: index % 3 === 0 ? "Bought" : "Signed Up",
        acceptedAt: now + Math.floor(index / 2),
        counted: true,
        skipped: { id: `s${index}`, reason },
      });

      it("are stored and counted once, when an acceptance is repeated whose outcome was not known", async () => {
        const acceptance = {
          calls: [call(0, "integrations"), call(1, "integrations")],
          messages: [],
          deliveries: [],
        };
        for (let time = 0; time < 2; time += 1)
          expect(await store.accept(acceptance)).toMatchObject({ repeats: [] });
        expect((await store.skipped({})).map(({ id }) => id)).toEqual(["s1", "s0"]);
        expect((await store.usage()).get("shop")).toBe(2);
      });

      it("are listed newest first, filtered and in pages", async () => {
        const calls = [0, 1, 2, 3, 4, 5].map((index) =>
          call(index, index < 2 ? "blocked_event" : "integrations", index === 5 ? "app" : "shop"),
        );
        await store.accept({ calls, messages: [], deliveries: [] });
        const idsOf = async (filter: Parameters<DeliveryStore["skipped"]>[0]): Promise<readonly string[]> =>
          (await store.skipped(filter)).map(({ id }) => id);
        expect(await idsOf({})).toEqual(["s5", "s4", "s3", "s2", "s1", "s0"]);
        expect(await idsOf({ source: "app" })).toEqual(["s5"]);
        expect(await idsOf({ source: "none" })).toEqual([]);
        expect(await idsOf({ reason: "blocked_event" })).toEqual(["s1", "s0"]);
        expect(await idsOf({ reason: ["blocked_event", "integrations"], limit: 2 })).toEqual(["s5", "s4"]);
        expect(await idsOf({ q: "m3" })).toEqual(["s3"]);
        expect(await idsOf({ q: "u1" })).toEqual(["s5", "s3", "s1"]);
        expect(await idsOf({ q: "Bou" })).toEqual(["s3", "s0"]);
        expect(await idsOf({ since: now + 1, until: now + 2 })).toEqual(["s3", "s2"]);
        expect(await idsOf({ after: cursorOf({ acceptedAt: now + 1, id: "s3" }) })).toEqual([
          "s2",
          "s1",
          "s0",
        ]);
        const [newest] = await store.skipped({ limit: 1 });
        expect(newest).toEqual({
          id: "s5",
          messageId: "m5",
          type: "track",
          source: "app",
          identity: "u1",
          event: "Signed Up",
          acceptedAt: now + 2,
          reason: "integrations",
        });
      });
    });

    describe("traits", () => {
      const owner = { kind: "audience", name: "Big Spenders" } as const;
      const change = (version: string, values: Readonly<Record<string, string | null>>) => ({
        source: "shop",
        trait: "big_spenders",
        owner,
        version,
        values: new Map([[SHOP, new Map(Object.entries(values))]]),
      });
      const read = async (): Promise<[string, Record<string, string>]> => {
        const { version, values } = await store.traits("shop", "big_spenders", [SHOP]);
        return [version, Object.fromEntries(values.get(SHOP) ?? [])];
      };

      it("change together with what announces them", async () => {
        const [none, nothing] = await read();
        expect(nothing).toEqual({});
        await store.accept({
          ...acceptanceOf([{ id: "d1", destination: SHOP, acceptedAt: now }]),
          traits: change(none, { u1: "true", "u\0two": "false" }),
        });
        const [first, known] = await read();
        expect(known).toEqual({ u1: "true", "u\0two": "false" });
        expect((await store.traits("shop", "big_spenders", [SHOP])).owner).toEqual(owner);
        await store.accept({ calls: [], messages: [], deliveries: [], traits: change(first, { u1: null }) });
        const [second, left] = await read();
        expect(left).toEqual({ "u\0two": "false" });
        expect(new Set([none, first, second]).size).toBe(3);
      });

      it("do not change, and nothing is stored, when they are read no longer as they are", async () => {
        const [none] = await read();
        const nothing = { calls: [], messages: [], deliveries: [] };
        await store.accept({ ...nothing, traits: change(none, { u1: "0" }) });
        const [first] = await read();
        await store.accept({ ...nothing, traits: change(first, { u1: "1" }) });
        for (const version of [none, first]) {
          const late = {
            ...acceptanceOf([{ id: "d1", destination: SHOP, acceptedAt: now }]),
            traits: change(version, { u1: "2" }),
          };
          await expect(store.accept(late)).rejects.toMatchObject({ code: "ERR_STORE_CHANGED" });
        }
        expect((await read())[1]).toEqual({ u1: "1" });
        expect(await listed()).toEqual([]);
        expect((await store.usage()).get("shop") ?? 0).toBe(0);
      });
    });

    it("closes twice, and answers nothing after that", async () => {
      await store.close();
      await store.close();
      await expect(store.list({})).rejects.toThrow(Error);
    });
  });

  describe(`${name} keeps time`, () => {
    let made: StoreUnderTest;
    const rounds = new Rounds();
    afterEach(async () => {
      const closing = made.store.close();
      rounds.endAll(Date.now());
      await closing;
      await made.dispose?.();
    });

    it("a delivery that falls due while others are under way starts at its time, not when one ends", async () => {
      made = await make();
      const { store } = made;
      await store.open(quietContext(systemClock()));
      const acceptedAt = Date.now();
      await store.accept(
        acceptanceOf(["slow", "retried"].map((id) => ({ id, destination: SHOP, acceptedAt }))),
      );
      rounds.serve(store, SHOP, 10);
      await expect.poll(() => rounds.ids().toSorted(), PATIENCE).toEqual(["retried", "slow"]);
      const dueAt = Date.now() + 100;
      const again = { state: "pending", dueAt, rounds: 1, progress: {}, attempts: [] } as const;
      await rounds.end("retried", again);
      // The other one is under way all the time.
      await expect.poll(() => rounds.ids().slice(2), PATIENCE).toEqual(["retried"]);
      expect(Date.now()).toBeGreaterThanOrEqual(dueAt);
      expect(rounds.settled).toEqual(["retried"]);
    });
  });
}
