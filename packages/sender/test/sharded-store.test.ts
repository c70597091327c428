import { createSender, SettingsError, shardedStore, sqliteStore, StoreError } from "@countersign/sender";
import {
  acceptParts,
  type DeliveryStore,
  type SharedSettings,
  splitAcceptance,
} from "@countersign/sender/store";
import { virtualClock } from "@countersign/sender/testing";
import { describe, expect, it, vi } from "vitest";
import { acceptanceOf, quietContext } from "./support/acceptances.ts";
import { answering } from "./support/answering.ts";
import { changedStore } from "./support/changed-store.ts";
import { openSender } from "./support/open-sender.ts";
import { startReceiver } from "./support/receiver.ts";
import { silentTransport } from "./support/silent-transport.ts";
import { temporaryFolder } from "./support/temporary-folder.ts";

const away = new StoreError("ERR_STORE_FAILED", "The database is away.");

function sources(url: string, ...names: string[]) {
  return names.map((name) => ({ name, destinations: [{ endpoints: [{ url }] }] }));
}

/** Sources whose name starts with a live in a, and the others in b. */
function byLetter(a: DeliveryStore, b: DeliveryStore): DeliveryStore {
  return shardedStore({ a, b }, (source) => (source.startsWith("a") ? "a" : "b"));
}

/** A store that does not answer while it is away. */
function leavingStore(store: DeliveryStore): {
  store: DeliveryStore;
  link: { isAway: boolean; failures: number };
} {
  const link = { isAway: false, failures: 0 };
  const through = async <T>(ask: () => Promise<T>): Promise<T> => {
    if (link.failures > 0) link.failures -= 1;
    else if (!link.isAway) return ask();
    throw away;
  };
  const changed = changedStore(store, (real) => ({
    accept: (acceptance) => through(() => real.accept(acceptance)),
    find: (id) => through(() => real.find(id)),
    list: (filter) => through(() => real.list(filter)),
    count: (filter) => through(() => real.count(filter)),
    counts: () => through(() => real.counts()),
    usage: () => through(() => real.usage()),
  }));
  return { store: changed, link };
}

describe("an acceptance whose parts do not fit each other", () => {
  const { calls, messages, deliveries } = acceptanceOf([
    { id: "a", destination: "shop/webhooks", acceptedAt: 0 },
    { id: "b", destination: "shop/webhooks", acceptedAt: 0 },
  ]);

  it.each([
    [{ messages: messages.map((message) => ({ ...message, call: 2 })) }, "messages[0].call is 2", "`calls`"],
    [
      { deliveries: deliveries.map((delivery) => ({ ...delivery, message: -1 })) },
      "deliveries[0].message is -1",
      "`messages`",
    ],
  ])("is refused by an error that says which position is wrong, and what it may be", (wrong, what, list) => {
    expect(() => splitAcceptance({ calls, messages, deliveries, ...wrong }, (source) => source)).toThrow(
      new TypeError(
        `splitAcceptance(): ${what}. It must be a position in ${list}, which has 2: count from 0.`,
      ),
    );
  });
});

describe("acceptParts()", () => {
  const empty = { calls: [], messages: [], deliveries: [] };
  const parts = ["a", "b"].map((key, position) => ({ key, acceptance: empty, positions: [position] }));
  const full = new StoreError("ERR_STORE_FULL", "The store is full.");
  const unknown = new StoreError("ERR_STORE_UNKNOWN", "The connection broke.");

  it.each([
    ["nothing was stored if every part says so", [full, full], "ERR_STORE_FULL"],
    [
      "it is not known if one part does not know, whichever failed first",
      [full, unknown],
      "ERR_STORE_UNKNOWN",
    ],
    ["a part was stored", [full, undefined], "ERR_STORE_UNKNOWN"],
  ] as const)("tells that %s", async (_, [a, b], code) => {
    const accepted = acceptParts(parts, async ({ key }) => {
      const failure = key === "a" ? a : b;
      if (failure !== undefined) throw failure;
      return { repeats: [] };
    });
    await expect(accepted).rejects.toMatchObject({ code });
  });
});

describe("a store that is closed while one of its stores is being opened", () => {
  it("closes that one, too", async () => {
    let closed = 0;
    let open: (() => void) | undefined;
    const slow = changedStore(sqliteStore(), (real) => ({
      async open(context) {
        await new Promise<void>((resolve) => (open = resolve));
        return real.open(context);
      },
      async close() {
        closed += 1;
        open?.();
        await real.close();
      },
    }));
    const store = byLetter(sqliteStore(), slow);
    const opening = store.open(quietContext(virtualClock()));
    await vi.waitFor(() => expect(open).toBeDefined());
    await store.close();
    await opening.catch(() => {});
    expect(closed).toBe(1);
  });
});

describe("two stores by source", () => {
  it("hold each what belongs to them, and look like one", async () => {
    const receiver = await startReceiver();
    const folder = temporaryFolder();
    const path = (name: string): string => `${folder}/${name}.db`;
    const clock = virtualClock();
    const sender = await openSender({
      clock,
      sources: sources(receiver.url, "a1", "a2", "b1"),
      store: byLetter(sqliteStore({ path: path("a") }), sqliteStore({ path: path("b") })),
    });
    const ids: string[] = [];
    for (const source of ["a1", "b1", "a2", "b1", "a1"]) {
      ids.push(...(await sender.track({ userId: "u1", event: source }, { source })).deliveries);
      await clock.advance(1);
    }
    const first = await sender.summaries({ limit: 3 });
    const second = await sender.summaries({ limit: 3, after: first.next });
    expect([...first.deliveries, ...second.deliveries].map(({ id }) => id)).toEqual(ids.toReversed());
    expect(second.next).toBeUndefined();
    expect(await sender.count({ state: "delivered" })).toBe(5);
    expect(await sender.count({ source: ["b1", "a2"] })).toBe(3);
    expect((await sender.stats()).sources).toEqual([
      { source: "a1", usage: 2 },
      { source: "a2", usage: 1 },
      { source: "b1", usage: 2 },
    ]);
    const resent = await sender.resend(ids[1] ?? "");
    expect(await resent.settled()).toMatchObject([{ source: "b1", resendOf: ids[1] }]);
    expect((await sender.syncAudience("VIP", ["u1"], { source: "b1" })).changed).toEqual(["u1"]);
    expect(await sender.clear({ event: ["a1", "b1"] })).toBe(5);
    await sender.close();

    const options = { sources: sources(receiver.url, "a1", "a2", "b1"), transport: silentTransport() };
    for (const [name, held] of [
      ["a", ["a2"]],
      ["b", ["b1"]],
    ] as const) {
      const alone = await openSender({ ...options, store: sqliteStore({ path: path(name) }) });
      const { deliveries } = await alone.summaries();
      expect([...new Set(deliveries.map(({ source }) => source))]).toEqual(held);
      await alone.close();
    }
  });

  it("remove what is older than all that stays", async () => {
    const clock = virtualClock();
    const answer = { status: 400 };
    const sender = await openSender({
      clock,
      sources: sources("http://127.0.0.1:9/", "a1", "b1"),
      store: byLetter(sqliteStore(), sqliteStore()),
      transport: answering(answer),
    });
    const bought = (n: number) =>
      ({ type: "track", userId: `u${n}`, event: "E", timestamp: "2026-01-31T08:30:00.000Z" }) as const;
    await sender.accept(
      Array.from({ length: 1_001 }, (_, n) => bought(n)),
      { source: "b1" },
    );
    await clock.advance("1m");
    answer.status = 204;
    await sender.track({ userId: "u1", event: "E" }, { source: "a1" });
    await clock.advance("1m");
    expect(await sender.resend({ filter: { state: "failed" } })).toEqual({ resent: 1_001 });
    await clock.advance("1m");
    expect(await sender.clear({ state: "delivered" })).toBe(1);
  });

  it("recognise repeats and list skipped calls, each of its sources", async () => {
    const sender = await openSender({
      sources: [
        { name: "a", destinations: [] },
        { name: "b", destinations: [] },
      ],
      store: byLetter(sqliteStore(), sqliteStore()),
    });
    const call = {
      type: "track",
      userId: "u1",
      event: "E",
      timestamp: "2026-01-31T08:30:00.000Z",
      key: "k",
    } as const;
    for (const source of ["a", "b"]) {
      const receipts = await sender.accept([call, call], { source, uniqueFor: "1h" });
      expect(receipts.map(({ repeat }) => repeat)).toEqual([undefined, true]);
    }
    const { calls } = await sender.skipped();
    expect(calls.map(({ source }) => source)).toEqual(["b", "a"]);
  });

  it("work on when one is away: the sources of the other notice nothing, and nothing is lost", async () => {
    const receiver = await startReceiver();
    const { store, link } = leavingStore(sqliteStore());
    const sender = await openSender({
      sources: sources(receiver.url, "a", "b"),
      store: byLetter(sqliteStore(), store),
    });
    const track = (source: string) => sender.track({ userId: "u1", event: source }, { source });
    await (await track("b")).settled();
    await sender.stats();
    link.isAway = true;
    await expect(track("b")).rejects.toBe(away);
    for (let n = 0; n < 20; n += 1) expect(await (await track("a")).settled()).toHaveLength(1);
    expect(await sender.count({ source: "a" })).toBe(20);
    await expect(sender.count({})).rejects.toBe(away);
    // The counts of the one that is away are those of the last time.
    expect((await sender.stats()).destinations).toMatchObject([{ delivered: 20 }, { delivered: 1 }]);
    link.isAway = false;
    await (await track("b")).settled();
    expect(await sender.count({})).toBe(22);
    expect(receiver.received).toHaveLength(22);
  });

  it("say which one is full: each knows only itself", async () => {
    const full = new StoreError("ERR_STORE_FULL", "The disk of the database is full.");
    const sender = await openSender({
      sources: sources("http://127.0.0.1:9/", "a", "b"),
      store: byLetter(
        sqliteStore(),
        changedStore(sqliteStore(), () => ({ accept: () => Promise.reject(full) })),
      ),
      deliver: false,
    });
    const track = (source: string) => sender.track({ userId: "u1", event: "E" }, { source });
    await expect(track("b")).rejects.toMatchObject({
      code: "ERR_STORE_FULL",
      message: "b is full: The disk of the database is full.",
      cause: full,
    });
    await track("a");
  });

  it("store what concerns both in both, once, though one fails at first", async () => {
    const receiver = await startReceiver();
    const { store, link } = leavingStore(sqliteStore());
    // What was stored before is not stored again: here the first half, in a.
    const stored = new Set<string>();
    const once = changedStore(sqliteStore(), (real) => ({
      accept: (acceptance) => {
        const id = acceptance.deliveries[0]?.id ?? "";
        if (stored.has(id)) return Promise.resolve({ repeats: [] });
        stored.add(id);
        return real.accept(acceptance);
      },
    }));
    const sender = await openSender({
      sources: sources(receiver.url, "a", "b"),
      store: byLetter(once, store),
    });
    link.failures = 1;
    const receipts = await sender.deleteUser("u1");
    await Promise.all(receipts.map((receipt) => receipt.settled()));
    expect(receiver.received).toHaveLength(2);
  });

  it("start when the second cannot be opened yet; it is opened when it can be, and delivers", async () => {
    const receiver = await startReceiver();
    const path = `${temporaryFolder()}/b.db`;
    // Another process has the file.
    const holder = await openSender({
      sources: sources(receiver.url, "b"),
      store: sqliteStore({ path }),
      deliver: false,
    });
    const kept = await holder.track({ userId: "u1", event: "kept" });
    const sender = await openSender({
      sources: sources(receiver.url, "a", "b"),
      store: byLetter(sqliteStore(), sqliteStore({ path })),
    });
    expect(sender.storeState).toMatchObject({ state: "up", reason: expect.stringMatching(/^b is down: /u) });
    await (await sender.track({ userId: "u1", event: "a" }, { source: "a" })).settled();
    await expect(sender.track({ userId: "u1", event: "b" }, { source: "b" })).rejects.toMatchObject({
      code: "ERR_STORE_OPEN",
    });
    await holder.close();
    await vi.waitFor(() => expect(sender.storeState).toEqual({ state: "up" }), { timeout: 20_000 });
    await sender.idle();
    expect(await sender.delivery(kept.deliveries[0] ?? "")).toMatchObject({ state: "delivered" });
  }, 30_000);

  it("have their settings in the first, and a copy in the other", async () => {
    const [a, b] = [settingsOf(), settingsOf()];
    const store = byLetter(
      changedStore(sqliteStore(), () => ({ settings: a })),
      changedStore(sqliteStore(), () => ({ settings: b })),
    );
    const sender = await openSender({ sources: sources("http://127.0.0.1:9/", "a"), store });
    await sender.update({ sources: sources("http://127.0.0.1:10/", "a", "b") });
    const [first, copy] = await Promise.all([a.get(), b.get()]);
    expect(first?.text).toContain("127.0.0.1:10");
    expect(copy).toEqual(first);
  });
});

function settingsOf(): SharedSettings {
  let current: { version: number; text: string } | undefined;
  return {
    get: () => Promise.resolve(current),
    put(version, text) {
      if (version !== (current?.version ?? 0))
        return Promise.reject(new StoreError("ERR_STORE_CHANGED", "Changed."));
      current = { version: version + 1, text };
      return Promise.resolve(version + 1);
    },
    watch: () => () => {},
  };
}

describe("shardedStore()", () => {
  it("needs stores, and a function that names one of them for each source", async () => {
    expect(() => shardedStore({}, () => "a")).toThrow(/at least one store/u);
    expect(() => shardedStore({ a: sqliteStore() }, "a" as never)).toThrow(/function/u);
    const store = shardedStore({ a: sqliteStore() }, () => "c");
    await expect(createSender({ sources: sources("http://127.0.0.1:9/", "shop"), store })).rejects.toThrow(
      /source "shop": sources\[0\].name is assigned to "c" by shardedStore\(\). There are: "a"/u,
    );
  });

  it("has settings refused that name a source it has no store for: those in force stay, here and in the store", async () => {
    const [a, b] = [settingsOf(), settingsOf()].map((settings) =>
      changedStore(sqliteStore(), () => ({ settings })),
    ) as [DeliveryStore, DeliveryStore];
    const nameOf = (source: string): string => (source === "a" || source === "b" ? source : "none");
    const store = shardedStore({ a, b }, nameOf);
    const before = sources("http://127.0.0.1:9/", "a", "b");
    const sender = await openSender({ sources: before, store });
    const stored = await a.settings?.get();
    const next = { sources: sources("http://127.0.0.1:9/", "a", "new", "b") };
    await expect(sender.update(next)).rejects.toThrow(SettingsError);
    expect(() => sender.configure(next)).toThrow(/source "new": sources\[1\].name is assigned to "none"/u);
    expect(sender.settings.sources.map(({ name }) => name)).toEqual(["a", "b"]);
    expect(await a.settings?.get()).toEqual(stored);
  });

  it("does not open without the first store, and closes what it has opened", async () => {
    const failing = changedStore(sqliteStore(), () => ({ open: () => Promise.reject(away) }));
    let closed = 0;
    const other = changedStore(sqliteStore(), (real) => ({
      close() {
        closed += 1;
        return real.close();
      },
    }));
    const options = { sources: sources("http://127.0.0.1:9/", "a"), store: byLetter(failing, other) };
    await expect(createSender(options)).rejects.toBe(away);
    expect(closed).toBe(1);
  });
});
