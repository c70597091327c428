import { sqliteStore } from "@countersign/sender";
import type { DeliveryStore, DueDelivery, Settlement } from "@countersign/sender/store";
import { virtualClock, type VirtualClock } from "@countersign/sender/testing";
import { expect, it, onTestFinished } from "vitest";
import { acceptanceOf, quietContext } from "./support/acceptances.ts";

const DESTINATION = "shop/webhooks";

interface Serving {
  /** Stores a delivery for each id, due at `dueAt`. */
  readonly accept: (ids: readonly string[], dueAt?: number) => Promise<void>;
  /** The ids of what was handed over with the very body that was accepted, so not read back from the table. */
  readonly fromMemory: () => readonly string[];
  /** What was handed over, in order. */
  readonly handedOver: DueDelivery[];
  /** Ids of what was handed over, in order. */
  readonly ids: () => readonly string[];
  /** Ends the round of a delivery. */
  readonly settle: (id: string, settlement: Settlement) => void;
}

function serve(store: DeliveryStore, clock: VirtualClock, concurrency: number): Serving {
  const handedOver: DueDelivery[] = [];
  const accepted = new Set<Uint8Array>();
  const rounds = new Map<string, (settlement: Settlement) => void>();
  store.consume(DESTINATION, concurrency, {
    deliver: (due) => {
      handedOver.push(due);
      return new Promise((resolve) => rounds.set(due.delivery.id, resolve));
    },
    settled: () => {},
    lost: () => {},
  });
  return {
    async accept(ids, acceptedAt = clock.now()) {
      const acceptance = acceptanceOf(ids.map((id) => ({ id, destination: DESTINATION, acceptedAt })));
      for (const { body } of acceptance.messages) accepted.add(body);
      await store.accept(acceptance);
    },
    fromMemory: () => handedOver.filter(({ body }) => accepted.has(body)).map(({ delivery }) => delivery.id),
    handedOver,
    ids: () => handedOver.map(({ delivery }) => delivery.id),
    settle: (id, settlement) => rounds.get(id)?.(settlement),
  };
}

async function openStore(clock: VirtualClock): Promise<DeliveryStore> {
  const store = sqliteStore();
  await store.open(quietContext(clock));
  return store;
}

async function startServing(
  concurrency: number,
): Promise<Serving & { readonly clock: VirtualClock; readonly store: DeliveryStore }> {
  const clock = virtualClock();
  const store = await openStore(clock);
  const serving = serve(store, clock, concurrency);
  onTestFinished(async () => {
    const delivered: Settlement = { state: "delivered", endedAt: clock.now(), attempts: [] };
    const closing = store.close();
    for (const id of serving.ids()) serving.settle(id, delivered);
    await closing;
  });
  return { ...serving, clock, store };
}

const endedAt = (clock: VirtualClock): Settlement => ({
  state: "delivered",
  endedAt: clock.now(),
  attempts: [],
});

it("a call made in the turn in which a place is freed is sent after those that waited for it", async () => {
  const { accept, settle, ids, clock } = await startServing(1);
  await accept(["first", "second", "third"]);
  expect(ids()).toEqual(["first"]);

  settle("first", endedAt(clock));
  // So that its settlement is the first thing that this turn commits, and the call the second.
  for (let hop = 0; hop < 10; hop += 1) await Promise.resolve();
  await accept(["fourth"]);
  await expect.poll(ids).toEqual(["first", "second"]);
  settle("second", endedAt(clock));
  await expect.poll(ids).toEqual(["first", "second", "third"]);
  settle("third", endedAt(clock));
  await expect.poll(ids).toEqual(["first", "second", "third", "fourth"]);
});

it("what is due longest is sent first, also if it is stored after what waits already", async () => {
  const { accept, settle, ids, clock } = await startServing(1);
  await accept(["busy"]);
  await accept(["second"], clock.now() - 1_000);
  await accept(["first"], clock.now() - 2_000);
  settle("busy", endedAt(clock));
  await expect.poll(ids).toEqual(["busy", "first"]);
  settle("first", endedAt(clock));
  await expect.poll(ids).toEqual(["busy", "first", "second"]);
});

it("a delivery that is due again at once is sent before a call made later", async () => {
  const { accept, settle, ids, clock } = await startServing(1);
  await accept(["first"]);
  const progress = {};
  settle("first", { state: "pending", dueAt: clock.now(), rounds: 1, progress, attempts: [] });
  await accept(["second"]);
  await expect.poll(ids).toEqual(["first", "first"]);
  settle("first", endedAt(clock));
  await expect.poll(ids).toEqual(["first", "first", "second"]);
});

it("calls are not read back while a delivery waits for its retry", async () => {
  const { accept, settle, ids, fromMemory, clock } = await startServing(1);
  await accept(["fails", "waits"]);
  const dueAt = clock.now() + 60_000;
  settle("fails", { state: "pending", dueAt, rounds: 1, progress: {}, attempts: [] });
  await expect.poll(ids).toEqual(["fails", "waits"]);
  await accept(["third"]);
  settle("waits", endedAt(clock));
  await expect.poll(ids).toEqual(["fails", "waits", "third"]);
  expect(fromMemory()).toEqual(["fails", "waits", "third"]);
});

it("calls are not read back after a delivery that fell due while every place was taken", async () => {
  const { store, accept, settle, ids, fromMemory, clock } = await startServing(1);
  await accept(["sent"]);
  settle("sent", endedAt(clock));
  await accept(["busy"]);
  await expect.poll(ids).toEqual(["sent", "busy"]);
  await store.repeat("sent", { id: "again", acceptedAt: clock.now() });
  await accept(["third", "fourth"]);
  const waiting = ["busy", "again", "third", "fourth"];
  for (const [index, id] of waiting.entries()) {
    await expect.poll(ids).toEqual(["sent", ...waiting.slice(0, index + 1)]);
    settle(id, endedAt(clock));
  }
  expect(fromMemory()).toEqual(["sent", "busy", "third", "fourth"]);
});

it("a delivery that waits for a place is hastened for endpoints that asked to be called later, too", async () => {
  const { store, accept, settle, ids, handedOver, clock } = await startServing(1);
  const now = clock.now();
  await accept(["waits"], now - 1_000);
  await accept(["busy"], now - 2_000);
  const progress = { "https://a/": { notBefore: now + 60_000 } };
  settle("waits", { state: "pending", dueAt: now - 1_000, rounds: 1, progress, attempts: [] });
  await expect.poll(ids).toEqual(["waits", "busy"]);
  expect(await store.hasten("waits")).toBe(true);
  settle("busy", endedAt(clock));
  await expect.poll(ids).toEqual(["waits", "busy", "waits"]);
  expect(handedOver[2]?.progress).toEqual({ "https://a/": {} });
});

it("a delivery that is not due yet waits, though there is room", async () => {
  const { accept, settle, ids, clock } = await startServing(5);
  await accept(["later"], clock.now() + 5_000);
  await accept(["now"]);
  expect(ids()).toEqual(["now"]);
  settle("now", endedAt(clock));
  const advanced = clock.advance("5s");
  await expect.poll(ids).toEqual(["now", "later"]);
  settle("later", endedAt(clock));
  await advanced;
});

it("what is handed over when it is stored is what the table says of it", async () => {
  const clock = virtualClock();
  const before = await openStore(clock);
  const after = await openStore(clock);
  const fromMemory = serve(before, clock, 5);
  const ids = ["a", "b", "c"];
  await fromMemory.accept(ids);
  await serve(after, clock, 0).accept(ids);
  const fromTable = serve(after, clock, 5);

  const plain = (all: readonly DueDelivery[]): unknown =>
    all.map((due) => ({ ...due, body: Buffer.from(due.body).toString() }));
  expect(fromTable.handedOver).toHaveLength(3);
  expect(plain(fromMemory.handedOver)).toEqual(plain(fromTable.handedOver));
});
