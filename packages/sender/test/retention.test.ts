import { syncBuiltinESMExports } from "node:module";
import { join } from "node:path";
import timers from "node:timers";
import { setImmediate as turn } from "node:timers/promises";
import { type Clock, systemClock } from "@countersign/protocol";
import { type Sender, sqliteStore } from "@countersign/sender";
import { virtualClock } from "@countersign/sender/testing";
import Database from "libsql";
import { expect, it, onTestFinished, vi } from "vitest";
import { openSender } from "./support/open-sender.ts";
import { startReceiver } from "./support/receiver.ts";
import { silentTransport } from "./support/silent-transport.ts";
import { temporaryFolder } from "./support/temporary-folder.ts";

/** Those that are kept, by their events. */
async function keptBy(sender: Sender): Promise<unknown[]> {
  return (await sender.deliveries()).map(({ event }) => event);
}

/** Replaces the timers of `node:timers`, which the fake timers of test frameworks leave alone. */
function fakeNodeTimers(): { elapse: (ms: number) => Promise<void> } {
  const waiting: { readonly at: number; readonly run: () => void }[] = [];
  const { setTimeout: real } = timers;
  let now = 0;
  timers.setTimeout = ((run: () => void, ms: number) => {
    waiting.push({ at: now + ms, run });
    return real(() => {}, 0);
  }) as typeof real;
  syncBuiltinESMExports();
  onTestFinished(() => {
    timers.setTimeout = real;
    syncBuiltinESMExports();
    // They refer to the store, and so keep its file open.
    waiting.length = 0;
  });
  return {
    async elapse(ms) {
      const end = now + ms;
      for (;;) {
        const due = waiting.findIndex(({ at }) => at <= end);
        if (due === -1) break;
        const [next] = waiting.splice(due, 1);
        now = next?.at ?? now;
        next?.run();
        await turn();
      }
      now = end;
    },
  };
}

it("what is outdated goes within a minute, also while nothing is written and after a restart", async () => {
  const path = join(temporaryFolder(), "deliveries.db");
  const receiver = await startReceiver();
  const before = await openSender({
    url: receiver.url,
    clock: virtualClock("2026-11-22"),
    store: sqliteStore({ path, keepFor: "7d" }),
  });
  // More than are removed at a time.
  for (let index = 0; index < 500; index += 1) void before.track({ userId: "u1", event: "Old" });
  await before.idle();
  await before.close();
  const { elapse } = fakeNodeTimers();

  const clock = virtualClock("2026-11-30");
  const sender = await openSender({
    url: receiver.url,
    clock,
    store: sqliteStore({ path, keepFor: "7d" }),
  });
  expect(await sender.count({})).toBe(500);
  await elapse(61_000);

  expect(await sender.count({})).toBe(0);
  expect((await sender.stats()).destinations).toMatchObject([{ delivered: 0 }]);
});

it("what cannot be removed is told, and goes once it can be", async () => {
  const path = join(temporaryFolder(), "deliveries.db");
  const { url } = await startReceiver();
  const open = (time: string): Promise<Sender> =>
    openSender({ url, clock: virtualClock(time), store: sqliteStore({ path, keepFor: "7d" }) });
  const before = await open("2026-11-22");
  await before.track({ userId: "u1", event: "Old" });
  await before.idle();
  await before.close();
  const other = new Database(path);
  onTestFinished(() => void other.close());
  other.exec("CREATE TRIGGER stays BEFORE DELETE ON delivery BEGIN SELECT raise(ABORT, 'It stays.'); END");
  const { elapse } = fakeNodeTimers();

  const sender = await open("2026-11-30");
  const told: Error[] = [];
  sender.on("storeError", ({ error }) => told.push(error));
  await elapse(61_000);
  expect(told).toMatchObject([{ code: "ERR_STORE_FAILED", message: expect.stringContaining("It stays.") }]);
  await sender.track({ userId: "u1", event: "New" });
  expect(await keptBy(sender)).toEqual(["New", "Old"]);
  other.exec("DROP TRIGGER stays");
  await elapse(61_000);
  expect(await keptBy(sender)).toEqual(["New"]);
  expect(told).toHaveLength(1);
});

it("a system clock that was ahead for a while, and was set back, does not put it off", async () => {
  const receiver = await startReceiver();
  const system = systemClock();
  let aheadMs = 0;
  const clock: Clock = {
    ...system,
    now: () => system.now() + aheadMs,
    schedule: (at, task) => system.schedule(at - aheadMs, task),
  };
  const sender = await openSender({ url: receiver.url, clock, store: sqliteStore({ keepFor: "1h" }) });
  const deliver = async (event: string): Promise<void> => {
    await sender.expect(await sender.track({ userId: "u1", event })).delivered();
  };

  aheadMs = 24 * 3_600_000;
  await deliver("Ahead");
  aheadMs = 0;
  await deliver("Old");
  aheadMs = 2 * 3_600_000;
  await deliver("Later");

  expect(await keptBy(sender)).toEqual(["Ahead", "Later"]);
});

it("timers that a test replaces come to an end with a sender that is open", async () => {
  vi.useFakeTimers();
  onTestFinished(() => void vi.useRealTimers());
  // A store across a network extends its lease for as long as it is open.
  await openSender({ url: "http://127.0.0.1:9", clock: virtualClock(), store: sqliteStore() });
  await expect(vi.runAllTimersAsync()).resolves.toBeDefined();
});

it("a key that was stored while the clock was a year ahead does not keep all later ones for a year", async () => {
  const path = join(temporaryFolder(), "deliveries.db");
  const virtual = virtualClock("2026-11-22");
  let aheadMs = 365 * 86_400_000;
  const sender = await openSender({
    url: "http://127.0.0.1:9/",
    clock: { ...virtual, now: () => virtual.now() + aheadMs },
    store: sqliteStore({ path }),
    transport: silentTransport(),
  });
  const accept = async (key: string): Promise<void> => {
    const call = { type: "track", userId: "u1", event: "A", timestamp: "2026-11-22T08:30:00Z", key } as const;
    await sender.accept([call], { uniqueFor: "24h" });
  };

  await accept("ahead");
  aheadMs = 0;
  await accept("first");
  await accept("second");
  aheadMs = 3 * 86_400_000;
  await accept("third");

  const db = new Database(path);
  const keys = db.prepare("SELECT key FROM call_key").all([]);
  db.close();
  expect(keys).toEqual([{ key: "third" }]);
});
