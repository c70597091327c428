import { randomInt } from "node:crypto";
import { cp, mkdtemp, rm } from "node:fs/promises";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { CallError, sqliteStore, StoreError } from "@countersign/sender";
import { virtualClock } from "@countersign/sender/testing";
import Database from "libsql";
import { describe, expect, it, onTestFinished, vi } from "vitest";
import { changedStore } from "./support/changed-store.ts";
import { openSender } from "./support/open-sender.ts";
import { startReceiver } from "./support/receiver.ts";
import { temporaryFolder } from "./support/temporary-folder.ts";

const TIMESTAMP = "2026-01-31T08:30:00.000Z";

function call(key: string | undefined, event = "A") {
  return { type: "track", userId: "u1", event, timestamp: TIMESTAMP, key } as const;
}

function randomText(length: number): string {
  return Array.from({ length }, () => String.fromCodePoint(randomInt(0x4e_00, 0x9f_a0))).join("");
}

describe("a call whose key the source had within uniqueFor", () => {
  it("is left out: it is not sent again, and its receipt says so", async () => {
    const receiver = await startReceiver();
    const sender = await openSender({ url: receiver.url });
    const [first] = await sender.accept([call("k1")], { uniqueFor: "24h" });
    const [again, other] = await sender.accept([call("k1"), call("k2", "B")], { uniqueFor: "24h" });
    expect(first?.repeat).toBeUndefined();
    expect(again).toMatchObject({ repeat: true, deliveries: [] });
    expect(await again?.settled()).toEqual([]);
    expect(other?.repeat).toBeUndefined();
    await sender.idle();
    expect(receiver.received.map(({ message }) => message["event"])).toEqual(["A", "B"]);
    expect((await sender.stats()).sources).toEqual([{ source: "default", usage: 2 }]);
  });

  it("is left out within one list too, and told of by no event", async () => {
    const sender = await openSender({
      sources: [{ name: "shop", blockedEvents: ["Blocked"], destinations: [] }],
    });
    const skipped: unknown[] = [];
    sender.on("skipped", ({ event }) => skipped.push(event));
    const receipts = await sender.accept(
      [call("k1", "Blocked"), call("k1", "Blocked"), call("k2", "Other")],
      {
        uniqueFor: "24h",
      },
    );
    expect(receipts.map(({ repeat, skipped: reason }) => repeat ?? reason)).toEqual([
      "blocked_event",
      true,
      "no_destination",
    ]);
    expect(skipped).toEqual(["Blocked", "Other"]);
  });

  it("is accepted again when the time has passed, and of another source at once", async () => {
    const clock = virtualClock();
    const endpoints = [{ url: (await startReceiver()).url }];
    const sender = await openSender({
      clock,
      sources: ["shop", "app"].map((name) => ({ name, destinations: [{ endpoints }] })),
    });
    const accept = async (source: string) =>
      (await sender.accept([call("k1")], { source, uniqueFor: "1h" }))[0]?.repeat;
    expect(await accept("shop")).toBeUndefined();
    expect(await accept("app")).toBeUndefined();
    await clock.advance("59m");
    expect(await accept("shop")).toBe(true);
    await clock.advance("1m");
    expect(await accept("shop")).toBeUndefined();
  });

  it("is told from the others of a long list: those that are new, known too long ago, or in it twice", async () => {
    const clock = virtualClock();
    const sender = await openSender({ clock, url: (await startReceiver()).url });
    const repeatsOf = async (keys: readonly (string | undefined)[]) => {
      const receipts = await sender.accept(
        keys.map((key) => call(key)),
        { uniqueFor: "1h" },
      );
      return receipts.flatMap(({ repeat }, position) => (repeat === true ? [position] : []));
    };
    expect(await repeatsOf(["old", "older"])).toEqual([]);
    await clock.advance("1h");
    expect(await repeatsOf(["recent"])).toEqual([]);
    const fresh = Array.from({ length: 40 }, (_, index) => `new-${index}`);
    const list = [...fresh, "old", undefined, "recent", "old", undefined, "new-7", "older"];
    expect(await repeatsOf(list)).toEqual([42, 43, 45]);
    // All of them are known now, by the time of this list.
    await clock.advance("59m");
    expect(await repeatsOf(["old", "older", ...fresh])).toHaveLength(42);
    await clock.advance("1m");
    expect(await repeatsOf(["old", "recent", "older"])).toEqual([]);
  });

  it("is known after a restart, because its key is stored with it", async () => {
    const path = `${temporaryFolder()}/deliveries.db`;
    const { url } = await startReceiver();
    for (const expected of [undefined, true]) {
      const sender = await openSender({ url, store: sqliteStore({ path }) });
      const [receipt] = await sender.accept([call("k1")], { uniqueFor: "24h" });
      expect(receipt?.repeat).toBe(expected);
      await sender.close();
    }
  });

  it("has its key removed from the file when the time has passed, and no other", async () => {
    const path = `${temporaryFolder()}/deliveries.db`;
    const clock = virtualClock();
    const sender = await openSender({
      url: (await startReceiver()).url,
      clock,
      store: sqliteStore({ path }),
    });
    await sender.accept([call("old"), call("old too")], { uniqueFor: "1h" });
    await clock.advance("40m");
    await sender.accept([call("young")], { uniqueFor: "1h" });
    await clock.advance("40m");
    await sender.accept([call("new")], { uniqueFor: "1h" });
    await sender.close();
    const file = new Database(path);
    expect(file.prepare("SELECT key FROM call_key ORDER BY seq").pluck().all([])).toEqual(["young", "new"]);
    file.close();
  });

  it("is never one without a key, and keys do not count without uniqueFor", async () => {
    const sender = await openSender({ url: (await startReceiver()).url });
    await sender.accept([call(undefined), call(undefined)], { uniqueFor: "24h" });
    await sender.accept([call("k1"), call("k1")]);
    const [receipt] = await sender.accept([call("k1")], { uniqueFor: "24h" });
    expect(receipt?.repeat).toBeUndefined();
  });

  it.each([
    ["lone surrogates", ["\uD800", "\uDBFF", "\uDFFF", "\uFFFD"]],
    // In UTF-8 three times as many bytes, more than an index of PostgreSQL takes. At random: what repeats itself is compressed.
    ["1,024 characters", ["a", "b"].map((end) => randomText(1_023) + end)],
  ])("is known by its whole key, with %s too", async (_what, keys) => {
    const sender = await openSender({ url: (await startReceiver()).url });
    const accept = async (): Promise<readonly unknown[]> =>
      (
        await sender.accept(
          keys.map((key) => call(key)),
          { uniqueFor: "24h" },
        )
      ).map(({ repeat }) => repeat);
    expect(await accept()).toEqual(keys.map(() => undefined));
    expect(await accept()).toEqual(keys.map(() => true));
  });

  it("must have a key and a time that can be used", async () => {
    const sender = await openSender({ url: (await startReceiver()).url });
    await expect(sender.accept([call("")])).rejects.toThrow(CallError);
    await expect(sender.accept([call("k".repeat(1_025))])).rejects.toThrow(/key of 1 to 1024/u);
    await expect(sender.accept([call("k1")], { uniqueFor: "soon" as never })).rejects.toThrow(/uniqueFor/u);
    // @ts-expect-error -- only accept() has it
    await expect(sender.track({ userId: "u1", event: "A" }, { uniqueFor: "1h" })).rejects.toThrow(
      /uniqueFor/u,
    );
  });
});

describe("a store that does not say whether it has stored a call", () => {
  const unknown = new StoreError("ERR_STORE_UNKNOWN", "The connection broke.");

  /** A sender whose store fails this many times, when told, after it has stored, or before. */
  async function open({
    times,
    stores,
    thrown = unknown,
  }: {
    times: number;
    stores: boolean;
    thrown?: Error;
  }) {
    const receiver = await startReceiver();
    // A call is tried again for two seconds, in which a busy machine may do nothing else: no time passes.
    const now = performance.now();
    vi.spyOn(performance, "now").mockReturnValue(now);
    onTestFinished(() => void vi.restoreAllMocks());
    const failures = { left: times };
    const fail = async <T>(store: () => Promise<T>): Promise<T> => {
      if (failures.left <= 0) return store();
      failures.left -= 1;
      if (stores) await store();
      throw thrown;
    };
    const store = changedStore(sqliteStore(), (real) => ({
      accept: (acceptance) => fail(() => real.accept(acceptance)),
      repeat: (id, next) => fail(() => real.repeat(id, next)),
    }));
    return { receiver, failures, sender: await openSender({ url: receiver.url, store }) };
  }

  it("is asked again with the same ids: what was not stored is stored, once", async () => {
    const { sender, receiver } = await open({ times: 2, stores: false });
    const receipt = await sender.track({ userId: "u1", event: "A" });
    await receipt.settled();
    expect(receiver.received).toHaveLength(1);
  });

  it("is asked again where its errors are of another copy of the package, as in an app with two versions", async () => {
    const directory = await mkdtemp(join(import.meta.dirname, "../node_modules/.copy-"));
    onTestFinished(() => rm(directory, { recursive: true }));
    const file = join(directory, "store-error.mjs");
    await cp(join(import.meta.dirname, "../dist/store/store-error.js"), file);
    const copy = (await import(pathToFileURL(file).href)) as { StoreError: typeof StoreError };
    class OwnError extends StoreError {}
    const thrown = new copy.StoreError("ERR_STORE_UNKNOWN", "The connection broke.");
    expect(thrown instanceof OwnError).toBe(false);
    const { sender, receiver } = await open({ times: 1, stores: false, thrown });
    const receipt = await sender.track({ userId: "u1", event: "A" });
    await receipt.settled();
    expect(receiver.received).toHaveLength(1);
  });

  it("is asked again with the same keys: what was stored is not stored again, and is no repeat", async () => {
    const { sender, receiver } = await open({ times: 1, stores: true });
    const [receipt] = await sender.accept([call("k1")], { uniqueFor: "24h" });
    expect(receipt?.repeat).toBeUndefined();
    expect(await receipt?.settled()).toHaveLength(1);
    expect(receiver.received).toHaveLength(1);
  });

  it("is believed after some attempts: the call rejects with the code, and the caller repeats it", async () => {
    const { sender } = await open({ times: 5, stores: false });
    await expect(sender.track({ userId: "u1", event: "A" })).rejects.toMatchObject({
      code: "ERR_STORE_UNKNOWN",
    });
    const receipt = await sender.track({ userId: "u1", event: "A" });
    expect(await receipt.settled()).toHaveLength(1);
  });

  it("is not asked again and again where each answer takes seconds, as of a database that hangs", async () => {
    const { sender, failures } = await open({ times: 10, stores: false });
    const now = performance.now();
    vi.spyOn(performance, "now").mockImplementation(() => now + (10 - failures.left) * 5_000);
    await expect(sender.track({ userId: "u1", event: "A" })).rejects.toMatchObject({
      code: "ERR_STORE_UNKNOWN",
    });
    expect(failures.left).toBe(8);
  });

  it("keeps nobody waiting when it does not answer the second time", async () => {
    let isAsked = false;
    const store = changedStore(sqliteStore(), () => ({
      accept: () => (isAsked ? new Promise(() => {}) : ((isAsked = true), Promise.reject(unknown))),
    }));
    const sender = await openSender({ url: "http://127.0.0.1:9/", store });
    await expect(sender.track({ userId: "u1", event: "A" })).rejects.toMatchObject({
      code: "ERR_STORE_UNKNOWN",
    });
  });

  it("is looked into before a delivery is sent again, so that it is sent again once", async () => {
    const { sender, receiver, failures } = await open({ times: 0, stores: true });
    const [first] = await (await sender.track({ userId: "u1", event: "A" })).settled();
    failures.left = 1;
    const receipt = await sender.resend(first?.id ?? "");
    expect(await receipt.settled()).toHaveLength(1);
    expect(receiver.received).toHaveLength(2);
  });
});
