import {
  createSender,
  SettingsChangedError,
  SettingsError,
  sqliteStore,
  StoreError,
  type SenderSettings,
} from "@countersign/sender";
import type { DeliveryStore, SharedSettings, StoreContext } from "@countersign/sender/store";
import { type TestSender, virtualClock } from "@countersign/sender/testing";
import { describe, expect, it, onTestFinished, vi } from "vitest";
import { changedStore } from "./support/changed-store.ts";
import { openSender } from "./support/open-sender.ts";
import { startReceiver } from "./support/receiver.ts";
import { silentTransport } from "./support/silent-transport.ts";
import { temporaryFolder } from "./support/temporary-folder.ts";

const ENDPOINT_URL = "http://127.0.0.1:9/";

/** A store whose context is known, so that a test can tell the sender what a store of several processes would. */
function tellingStore(change: Partial<DeliveryStore> = {}): {
  store: DeliveryStore;
  context: () => StoreContext;
} {
  let context: (() => StoreContext) | undefined;
  const store = changedStore(sqliteStore(), (_, known) => {
    context = known;
    return change;
  });
  return { store, context: () => (context as () => StoreContext)() };
}

function settingsTo(...urls: string[]): SenderSettings {
  const sources = urls.map((url, index) => ({
    name: `source-${index}`,
    destinations: [{ endpoints: [{ url }] }],
  }));
  return { sources };
}

/** The next warning of this process with a code. */
function nextWarning(code: string): Promise<string> {
  return new Promise((resolve) => {
    const listen = (warning: Error & { readonly code?: string }): void => {
      if (warning.code !== code) return;
      process.off("warning", listen);
      resolve(warning.message);
    };
    process.on("warning", listen);
  });
}

/** Settings that several stores share, as in a database. */
function sharedSettings(): SharedSettings & { readonly puts: string[] } {
  let current: { version: number; text: string } | undefined;
  const listeners = new Set<(version: number) => void>();
  const puts: string[] = [];
  return {
    puts,
    get: () => Promise.resolve(current),
    put(version, text) {
      if (version !== (current?.version ?? 0)) {
        return Promise.reject(new StoreError("ERR_STORE_CHANGED", "The settings have another version."));
      }
      current = { version: version + 1, text };
      puts.push(text);
      for (const listener of listeners) setImmediate(listener, current.version);
      return Promise.resolve(current.version);
    },
    watch(listener) {
      listeners.add(listener);
      return () => listeners.delete(listener);
    },
  };
}

function withShared(settings: SharedSettings): DeliveryStore {
  return changedStore(sqliteStore(), () => ({ settings }));
}

describe("what other processes do", () => {
  it("ends no wait by mistake, and is asked for again when it may have been missed", async () => {
    const { store, context } = tellingStore();
    const receiver = await startReceiver(() => ({ status: 503 }));
    const clock = virtualClock();
    const sender = await openSender({ url: receiver.url, store, clock });
    const receipt = await sender.track({ userId: "u1", event: "A" });
    await clock.advance(0);
    const [id = ""] = receipt.deliveries;
    let isSettled = false;
    const settled = receipt.settled().then(() => (isSettled = true));
    // Told twice, or too early: the store is asked what is true.
    context().ended(id);
    context().missed();
    await sender.stats();
    expect(isSettled).toBe(false);
    receiver.answer = () => ({ status: 200 });
    await clock.advance("1m");
    await settled;
  });

  it("ends settled() and idle() though the notification was lost", async () => {
    let isEnded = false;
    const folder = temporaryFolder();
    const store = changedStore(sqliteStore({ path: `${folder}/a.db` }), (real) => ({
      find: async (id) => {
        const found = await real.find(id);
        return found && isEnded ? { ...found, state: "delivered", endedAt: 1 } : found;
      },
      counts: () => (isEnded ? Promise.resolve(new Map()) : real.counts()),
      open: (given) => {
        context = given;
        return real.open(given);
      },
    }));
    let context: StoreContext | undefined;
    const sender = await openSender({ url: ENDPOINT_URL, store, deliver: false });
    const receipt = await sender.track({ userId: "u1", event: "A" });
    const waits = [receipt.settled(), sender.idle()];
    await sender.stats();
    isEnded = true;
    context?.missed();
    const [settled] = await Promise.all(waits);
    expect(settled).toMatchObject([{ state: "delivered" }]);
  });

  it("is told with events: all, and only then", async () => {
    for (const events of ["own", "all"] as const) {
      const { store, context } = tellingStore();
      const sender = await openSender({ url: ENDPOINT_URL, store, events, transport: silentTransport() });
      const told: string[] = [];
      for (const event of ["accepted", "attempt", "retrying", "delivered", "skipped"] as const)
        sender.on(event, () => told.push(event));
      const call = {
        messageId: "m1",
        type: "track",
        source: "default",
        identity: "u1",
        acceptedAt: 1,
      } as const;
      const delivery = { ...call, id: "d1", destination: "default/webhooks" };
      const attempt = { round: 1, endpoint: ENDPOINT_URL, startedAt: 1, durationMs: 1, response: "" };
      const failed = { ...attempt, outcome: "server_error" } as const;
      const succeeded = { ...attempt, outcome: "success" } as const;
      context().told({ kind: "accepted", delivery });
      const again = { state: "pending", dueAt: 9, rounds: 1, progress: {}, attempts: [failed] } as const;
      context().told({ kind: "settled", delivery, settlement: again });
      const end = { state: "delivered", endedAt: 9, attempts: [succeeded] } as const;
      context().told({ kind: "settled", delivery, settlement: end });
      context().told({ kind: "skipped", call: { ...call, id: "s1", reason: "blocked_event" } });
      const all = ["accepted", "attempt", "retrying", "attempt", "delivered", "skipped"];
      expect(told).toEqual(events === "all" ? all : []);
    }
  });

  it("can take a delivery over: that is told as lost, and nothing is told as delivered", async () => {
    let attempts = 0;
    const store = changedStore(sqliteStore(), (real) => ({
      consume: (destination, concurrency, handler) =>
        real.consume(destination, concurrency, {
          deliver: (due, signal) => handler.deliver(due, signal),
          settled: (due, settlement) => handler.lost(due, settlement),
          lost: (due, settlement) => handler.lost(due, settlement),
        }),
    }));
    const sender = await openSender({ url: (await startReceiver()).url, store });
    const told: string[] = [];
    sender.on("delivered", () => told.push("delivered"));
    const lost = new Promise<string>((resolve) => {
      sender.on("lost", ({ delivery, attempts: made }) => {
        attempts = made.length;
        resolve(delivery.id);
      });
    });
    const { deliveries } = await sender.track({ userId: "u1", event: "A" });
    expect(await lost).toBe(deliveries[0]);
    expect(attempts).toBe(1);
    expect(told).toEqual([]);
  });

  it("leaves a delivery alone whose claim was lost before its round began", async () => {
    const receiver = await startReceiver();
    const gone = AbortSignal.abort();
    const settlements: string[] = [];
    const store = changedStore(sqliteStore(), (real) => ({
      consume: (destination, concurrency, handler) =>
        real.consume(destination, concurrency, {
          ...handler,
          deliver: async (due) => {
            const settlement = await handler.deliver(due, gone);
            settlements.push(settlement.state);
            return { state: "failed", endedAt: Date.now(), attempts: settlement.attempts };
          },
          settled: () => {},
          lost: () => {},
        }),
    }));
    const sender = await openSender({ url: receiver.url, store });
    await (await sender.track({ userId: "u1", event: "A" })).settled();
    expect(settlements).toEqual(["pending"]);
    expect(receiver.received).toEqual([]);
  });

  it("changes the state of the store, which the sender has and tells", async () => {
    const { store, context } = tellingStore();
    const sender = await openSender({ url: ENDPOINT_URL, store, transport: silentTransport() });
    const told: unknown[] = [];
    sender.on("storeState", (state) => told.push(state));
    expect(sender.storeState).toEqual({ state: "up" });
    const down = { state: "down", reason: "The database does not answer." } as const;
    for (const state of [down, down, { state: "up" } as const]) context().stateChanged(state);
    expect(told).toEqual([down, { state: "up" }]);
    expect(sender.storeState).toEqual({ state: "up" });
  });
});

describe("a sender with deliver: false", () => {
  it("accepts and sends nothing; one that delivers from the same store sends it", async () => {
    const receiver = await startReceiver();
    const path = `${temporaryFolder()}/deliveries.db`;
    const clock = virtualClock();
    const accepting = await openSender({
      url: receiver.url,
      store: sqliteStore({ path }),
      deliver: false,
      clock,
    });
    await accepting.track({ userId: "u1", event: "A" });
    await clock.advance("5h");
    expect((await accepting.stats()).destinations).toMatchObject([{ pending: 1, enabled: true }]);
    expect(receiver.received).toEqual([]);
    await accepting.close();
    const delivering = await openSender({ url: receiver.url, store: sqliteStore({ path }) });
    await delivering.idle();
    expect(receiver.received).toHaveLength(1);
  });

  it.each([
    [{ deliver: "no" }, /deliver.*true or false/u],
    [{ events: "everything" }, /events.*"own" or "all"/u],
    [{ delivers: false }, /it is called deliver here/u],
  ])("is asked for in words that exist: %o", async (options, text) => {
    await expect(createSender({ url: ENDPOINT_URL, ...(options as object) })).rejects.toThrow(text);
  });
});

describe("settings that processes share", () => {
  it("are those that the first was created with; a worker without any of its own follows them", async () => {
    const shared = sharedSettings();
    const worker = await openSender({ sources: "shared", store: withShared(shared) });
    expect(worker.settings).toEqual({ sources: [] });
    await expect(worker.track({ userId: "u1", event: "A" })).rejects.toMatchObject({
      code: "ERR_UNKNOWN_SOURCE",
    });
    const receiver = await startReceiver();
    await openSender({ ...settingsTo(receiver.url), store: withShared(shared) });
    await vi.waitFor(() => expect(worker.settings).toEqual(settingsTo(receiver.url)));
    await (await worker.track({ userId: "u1", event: "A" })).settled();
    expect(receiver.received).toHaveLength(1);
    const later = await openSender({ sources: "shared", store: withShared(shared) });
    expect(later.settings).toEqual(settingsTo(receiver.url));
  });

  it("that another process has changed in one source among many are checked there alone, and the others stay as they are", async () => {
    const shared = sharedSettings();
    const urls = Array.from({ length: 50 }, (_, number) => `http://127.0.0.1:9/${number}`);
    await openSender({ ...settingsTo(...urls), store: withShared(shared) });
    const worker = await openSender({ sources: "shared", store: withShared(shared) });
    const before = worker.settings.sources;
    const check = vi.spyOn(URL, "canParse");
    onTestFinished(() => check.mockRestore());
    const other = "http://127.0.0.1:9/other";
    const next = settingsTo(...urls.with(7, other));
    const told = new Promise((resolve) => worker.once("settings", resolve));
    await shared.put(1, JSON.stringify({ ...next, given: [] }));
    await told;
    // By each of the two.
    await vi.waitFor(() => expect(check.mock.calls).toEqual([[other], [other]]));
    const after = worker.settings.sources;
    expect(after).toEqual(next.sources);
    expect(after.filter((source, index) => source !== before[index])).toEqual([after[7]]);
  });

  it("are checked once at a start, those that are given and those that were added", async () => {
    const shared = sharedSettings();
    const urls = Array.from({ length: 20 }, (_, number) => `http://127.0.0.1:9/${number}`);
    await shared.put(0, JSON.stringify({ ...settingsTo(...urls), given: [] }));
    const check = vi.spyOn(URL, "canParse");
    onTestFinished(() => check.mockRestore());
    const given = "http://127.0.0.1:9/given";
    const sender = await openSender({ ...settingsTo(given), store: withShared(shared) });
    expect(check.mock.calls.flat()).toEqual([given, ...urls.slice(1)]);
    expect(sender.settings).toEqual(settingsTo(given, ...urls.slice(1)));
  });

  it("have the retry policy: a worker follows that of the process which was given the sources, and keeps its own", async () => {
    const shared = sharedSettings();
    const hours = (count: number) => {
      const delay = count * 3_600_000;
      return { retry: { firstDelayMs: delay, maxDelayMs: delay, minJitter: 1, windowMs: 100 * delay } };
    };
    const clock = virtualClock();
    const open = (options: object): Promise<TestSender> =>
      openSender({ sources: "shared", store: withShared(shared), clock, ...options });
    /** When a delivery of it is tried again, in hours. */
    const hoursOf = async (sender: TestSender): Promise<number> => {
      const waits = new Promise<number>((resolve) => sender.once("retrying", ({ dueAt }) => resolve(dueAt)));
      const now = clock.now();
      await sender.track({ userId: "u1", event: "A" });
      return ((await waits) - now) / 3_600_000;
    };
    const [worker, own] = [await open({}), await open(hours(7))];
    const first = await open({ ...settingsTo(ENDPOINT_URL), ...hours(2) });
    await vi.waitFor(() => expect(worker.settings).toEqual(first.settings));
    await vi.waitFor(() => expect(own.settings).toEqual(first.settings));
    expect([await hoursOf(first), await hoursOf(worker), await hoursOf(own)]).toEqual([2, 2, 7]);
    const windows = [first, worker, own].map(({ retryPolicy }) => retryPolicy.windowMs / 3_600_000);
    expect(windows).toEqual([200, 200, 700]);
    expect(await hoursOf(await open({}))).toBe(2);

    // A change of the sources leaves it alone, whoever makes it.
    await worker.update(settingsTo("http://127.0.0.1:10/"));
    await vi.waitFor(() => expect(first.settings).toEqual(worker.settings));
    expect([await hoursOf(first), await hoursOf(worker), await hoursOf(await open({}))]).toEqual([2, 2, 2]);

    const warned = nextWarning("COUNTERSIGN_SETTINGS_REPLACED");
    const second = await open({ ...worker.settings, ...hours(3) });
    expect(await warned).toMatch(/store: changed when deliveries are tried again\./u);
    await vi.waitFor(async () => expect(await hoursOf(worker)).toBe(3));
    expect([await hoursOf(second), await hoursOf(first)]).toEqual([3, 3]);
  });

  it("keep the retry policy when an older version changes them, which knows of none, until it is withdrawn", async () => {
    const shared = sharedSettings();
    const clock = virtualClock();
    const retry = { firstDelayMs: 60_000, maxDelayMs: 60_000, minJitter: 1 };
    const open = (options: object): Promise<TestSender> =>
      openSender({ sources: "shared", store: withShared(shared), clock, ...options });
    const delayOf = async (sender: TestSender): Promise<number> => {
      const waits = new Promise<number>((resolve) =>
        sender.once("retrying", ({ delayMs }) => resolve(delayMs)),
      );
      await sender.track({ userId: "u1", event: "A" });
      return waits;
    };
    const first = await open({ ...settingsTo(ENDPOINT_URL), retry });
    const worker = await open({});
    const others = settingsTo("http://127.0.0.1:10/");
    await shared.put(1, JSON.stringify({ ...others, given: ["source-0"] }));
    for (const sender of [first, worker]) {
      await vi.waitFor(() => expect(sender.settings).toEqual(others));
      expect(await delayOf(sender)).toBe(60_000);
    }
    await first.update(settingsTo(ENDPOINT_URL));
    expect(await delayOf(await open({}))).toBe(60_000);

    const withdraws = await open(settingsTo(ENDPOINT_URL));
    expect(await delayOf(withdraws)).toBeLessThanOrEqual(5_000);
    await vi.waitFor(async () => expect(await delayOf(worker)).toBeLessThanOrEqual(5_000));
    expect(await delayOf(await open({}))).toBeLessThanOrEqual(5_000);
    // Another one that has none changes nothing.
    const puts = shared.puts.length;
    await open(settingsTo(ENDPOINT_URL));
    expect(shared.puts).toHaveLength(puts);
  });

  it.each([
    ["the sources", settingsTo("http://127.0.0.1:10/")],
    ["a policy alone", {}],
  ])(
    "do not take its policy from a process that is given %s, if the store tells of them early",
    async (_, given) => {
      const shared = sharedSettings();
      const clock = virtualClock();
      const every = (ms: number) => ({ retry: { firstDelayMs: ms, maxDelayMs: ms, minJitter: 1 } });
      await openSender({ ...settingsTo(ENDPOINT_URL), ...every(60_000), store: withShared(shared), clock });
      const store = changedStore(sqliteStore(), (opened) => ({
        settings: shared,
        open: async (context) => {
          const result = await opened.open(context);
          context.missed();
          // What was told has been read by then.
          await new Promise((resolve) => setImmediate(resolve));
          return result;
        },
      }));
      const sender = await openSender({ sources: "shared", ...given, ...every(120_000), store, clock });
      const waits = new Promise<number>((resolve) =>
        sender.once("retrying", ({ delayMs }) => resolve(delayMs)),
      );
      await sender.track({ userId: "u1", event: "A" });
      expect(await waits).toBe(120_000);
    },
  );

  it("change everywhere with update(), and not with the same settings again", async () => {
    const shared = sharedSettings();
    const [first, second] = await Promise.all([
      openSender({ ...settingsTo(ENDPOINT_URL), store: withShared(shared) }),
      openSender({ ...settingsTo(ENDPOINT_URL), store: withShared(shared) }),
    ]);
    expect(shared.puts).toHaveLength(1);
    await first.update(settingsTo("http://127.0.0.1:10/"));
    expect(first.settings).toEqual(settingsTo("http://127.0.0.1:10/"));
    await vi.waitFor(() => expect(second.settings).toEqual(settingsTo("http://127.0.0.1:10/")));
    await second.update(settingsTo("http://127.0.0.1:11/"));
    await vi.waitFor(() => expect(first.settings).toEqual(settingsTo("http://127.0.0.1:11/")));
  });

  it("have a version that is the same in every process, and none where they are of one process alone", async () => {
    const shared = sharedSettings();
    const first = await openSender({ ...settingsTo(ENDPOINT_URL), store: withShared(shared) });
    const second = await openSender({ sources: "shared", store: withShared(shared) });
    expect([first.settingsVersion, second.settingsVersion]).toEqual([1, 1]);
    await second.update(settingsTo("http://127.0.0.1:10/"));
    expect(second.settingsVersion).toBe(2);
    await vi.waitFor(() => expect(first.settingsVersion).toBe(2));
    first.configure(settingsTo("http://127.0.0.1:11/"));
    expect(first.settingsVersion).toBeUndefined();
    await second.update(settingsTo("http://127.0.0.1:12/"));
    await vi.waitFor(() => expect(first.settingsVersion).toBe(3));
    const alone = await openSender(settingsTo(ENDPOINT_URL));
    expect(alone.settingsVersion).toBeUndefined();
  });

  it("are not overwritten by a change of older ones: update() rejects, and has the newer ones then", async () => {
    const shared = sharedSettings();
    const silent: SharedSettings = {
      ...shared,
      // As a database does, it answers later.
      get: () => new Promise((resolve) => setImmediate(() => resolve(shared.get()))),
      watch: () => () => {},
    };
    const first = await openSender({ ...settingsTo(ENDPOINT_URL), store: withShared(shared) });
    const second = await openSender({ ...settingsTo(ENDPOINT_URL), store: withShared(silent) });
    await first.update(settingsTo("http://127.0.0.1:10/"));
    const updating = second.update(settingsTo("http://127.0.0.1:11/"));
    await expect(updating).rejects.toThrow(SettingsChangedError);
    await expect(updating).rejects.toMatchObject({ code: "ERR_SETTINGS_CHANGED" });
    expect(second.settings).toEqual(settingsTo("http://127.0.0.1:10/"));
    await second.update(settingsTo("http://127.0.0.1:11/"));
    await vi.waitFor(() => expect(first.settings).toEqual(settingsTo("http://127.0.0.1:11/")));
  });

  it("are the newest in every process, also if another one changes them before update() has its answer", async () => {
    const shared = sharedSettings();
    const newest = settingsTo("http://127.0.0.1:11/");
    const overtaken: SharedSettings = {
      ...shared,
      async put(version, text) {
        const put = await shared.put(version, text);
        await shared.put(put, JSON.stringify(newest));
        await vi.waitFor(() => expect(first.settings).toEqual(newest));
        return put;
      },
    };
    await openSender({ ...settingsTo(ENDPOINT_URL), store: withShared(shared) });
    const first = await openSender({ sources: "shared", store: withShared(overtaken) });
    await first.update(settingsTo("http://127.0.0.1:10/"));
    expect(first.settings).toEqual(newest);
  });

  it("are not set back by an answer of the store that was on its way when update() had its own", async () => {
    const shared = sharedSettings();
    let [isWatched, reads] = [false, 0];
    let answer = (): void => {};
    const held = new Promise<void>((resolve) => (answer = resolve));
    const store = withShared({
      ...shared,
      async get() {
        const current = await shared.get();
        if (!isWatched) return current;
        reads += 1;
        if (reads === 1) await held;
        return current;
      },
      watch() {
        isWatched = true;
        return () => {};
      },
    });
    const sender = await openSender({ ...settingsTo(ENDPOINT_URL), store });
    await vi.waitFor(() => expect(reads).toBe(1));
    const newest = settingsTo("http://127.0.0.1:10/");
    await sender.update(newest);
    const told: object[] = [];
    sender.on("settings", (change) => told.push(change));
    answer();
    await vi.waitFor(() => expect(reads).toBe(2));
    await sender.update(newest);
    expect(sender.settings).toEqual(newest);
    expect(told.filter((change) => JSON.stringify(change).includes(ENDPOINT_URL))).toEqual([]);
  });

  it("are those of a database that was set back, whether their version is older or the same, and can be changed", async () => {
    const shared = sharedSettings();
    let back: { readonly version: number; readonly text: string } | undefined;
    let listener: ((version: number) => void) | undefined;
    const store = withShared({
      ...shared,
      get: () => (back === undefined ? shared.get() : Promise.resolve(back)),
      put: async (version, text) => {
        if (back === undefined) return shared.put(version, text);
        expect(version).toBe(back.version);
        return version + 1;
      },
      watch(listens) {
        listener = listens;
        return () => {};
      },
    });
    const sender = await openSender({ ...settingsTo(ENDPOINT_URL), store });
    await sender.update(settingsTo("http://127.0.0.1:10/"));
    for (const [version, port] of [
      [1, 9],
      [1, 11],
    ] as const) {
      const settings = settingsTo(`http://127.0.0.1:${port}/`);
      back = { version, text: JSON.stringify(settings) };
      listener?.(version);
      await vi.waitFor(() => expect(sender.settings).toEqual(settings));
      expect(sender.settingsVersion).toBe(version);
    }
    await sender.update(settingsTo("http://127.0.0.1:12/"));
    expect(sender.settings).toEqual(settingsTo("http://127.0.0.1:12/"));
  });

  it("stay in force where a database that was set back has none, and can be changed there", async () => {
    const lost = sharedSettings();
    let shared = lost;
    const settings: SharedSettings = {
      get: () => shared.get(),
      put: (version, text) => shared.put(version, text),
      watch: (listener) => lost.watch(listener),
    };
    const sender = await openSender({ ...settingsTo(ENDPOINT_URL), store: withShared(settings) });
    shared = sharedSettings();
    const refused = sender.update(settingsTo("http://127.0.0.1:10/"));
    await expect(refused).rejects.toMatchObject({ code: "ERR_SETTINGS_CHANGED" });
    expect(sender.settings).toEqual(settingsTo(ENDPOINT_URL));
    expect(sender.settingsVersion).toBe(0);
    await sender.update(settingsTo("http://127.0.0.1:11/"));
    expect(sender.settings).toEqual(settingsTo("http://127.0.0.1:11/"));
    expect(sender.settingsVersion).toBe(1);
  });

  it("stay as they are when the store fails, and update() rejects with its error", async () => {
    const shared = sharedSettings();
    const broken = new StoreError("ERR_STORE_FAILED", "The database does not answer.");
    const failing: SharedSettings = { ...shared, put: () => Promise.reject(broken) };
    await openSender({ ...settingsTo(ENDPOINT_URL), store: withShared(shared) });
    const sender = await openSender({ sources: "shared", store: withShared(failing) });
    await expect(sender.update(settingsTo("http://127.0.0.1:10/"))).rejects.toBe(broken);
    expect(sender.settings).toEqual(settingsTo(ENDPOINT_URL));
  });

  it("are told with what they were before when another process has changed them, and only then", async () => {
    const shared = sharedSettings();
    const [first, second] = [
      await openSender({ ...settingsTo(ENDPOINT_URL), store: withShared(shared) }),
      await openSender({ sources: "shared", store: withShared(shared) }),
    ];
    const told: object[] = [];
    first.on("settings", () => told.push({ to: "first" }));
    second.on("settings", (change) => told.push(change));
    await first.update(settingsTo("http://127.0.0.1:10/"));
    await vi.waitFor(() => expect(told).not.toEqual([]));
    expect(told).toEqual([
      { before: settingsTo(ENDPOINT_URL), settings: settingsTo("http://127.0.0.1:10/") },
    ]);
  });

  it("are followed also if another process changes them while a sender is being created", async () => {
    const shared = sharedSettings();
    await openSender({ ...settingsTo(ENDPOINT_URL), store: withShared(shared) });
    const settings = settingsTo("http://127.0.0.1:10/");
    const late: SharedSettings = {
      ...shared,
      watch(listener) {
        void shared.put(1, JSON.stringify(settings));
        return shared.watch(listener);
      },
    };
    const sender = await openSender({ sources: "shared", store: withShared(late) });
    await vi.waitFor(() => expect(sender.settings).toEqual(settings));
  });

  describe("when a process starts with its own", () => {
    const named = (port: number, ...names: readonly string[]): SenderSettings => ({
      sources: names.map((name) => ({
        name,
        destinations: [{ endpoints: [{ url: `http://127.0.0.1:${port}/` }] }],
      })),
    });
    const start = async (shared: SharedSettings, settings: SenderSettings) =>
      openSender({ ...settings, store: withShared(shared) });

    it("take those of the sources that it names, and keep a source that was added", async () => {
      const shared = sharedSettings();
      const first = await start(shared, named(10, "shop"));
      const [shop] = first.settings.sources;
      const [app] = named(20, "app").sources;
      await first.update({ sources: [shop, app].flatMap((one) => one ?? []) });
      const warned = nextWarning("COUNTERSIGN_SETTINGS_REPLACED");
      const again = await start(shared, named(11, "shop"));
      expect(again.settings.sources).toEqual([...named(11, "shop").sources, app]);
      await vi.waitFor(() => expect(first.settings).toEqual(again.settings));
      expect(await warned).toMatch(/: replaced "shop"\./u);
    });

    it("lose a source that only an earlier start brought, and that is said", async () => {
      const shared = sharedSettings();
      await start(shared, named(10, "shop", "app"));
      const warned = nextWarning("COUNTERSIGN_SETTINGS_REPLACED");
      const again = await start(shared, named(10, "shop"));
      expect(again.settings).toEqual(named(10, "shop"));
      expect(await warned).toMatch(/: removed "app"\./u);
    });

    it.each(["that process", "a worker that follows it"])(
      "lose a source that only an earlier start brought, though %s has changed the settings since",
      async (who) => {
        const shared = sharedSettings();
        const worker = await openSender({ sources: "shared", store: withShared(shared) });
        const first = await start(shared, named(10, "shop", "app"));
        await vi.waitFor(() => expect(worker.settings).toEqual(first.settings));
        await (who === "that process" ? first : worker).update(named(11, "shop", "app"));
        const again = await start(shared, named(10, "shop"));
        expect(again.settings).toEqual(named(10, "shop"));
      },
    );

    it("lose an added source that has the write key of one that is given, since the process could not start", async () => {
      const shared = sharedSettings();
      const first = await start(shared, named(10, "shop"));
      const [added] = named(20, "app").sources;
      if (added === undefined) throw new Error("There is a source.");
      await first.update({ sources: [...first.settings.sources, { ...added, writeKey: "blog" }] });
      const again = await start(shared, named(10, "shop", "blog"));
      expect(again.settings).toEqual(named(10, "shop", "blog"));
    });
  });

  it("that are not valid reject with every problem, and change nothing anywhere", async () => {
    const shared = sharedSettings();
    const sender = await openSender({ ...settingsTo(ENDPOINT_URL), store: withShared(shared) });
    await expect(sender.update(settingsTo("ftp://a/"))).rejects.toThrow(SettingsError);
    expect(shared.puts).toHaveLength(1);
    expect(sender.settings).toEqual(settingsTo(ENDPOINT_URL));
  });

  it("of a newer version that this one cannot read are told, and the last ones stay in force", async () => {
    const shared = sharedSettings();
    const sender = await openSender({ ...settingsTo(ENDPOINT_URL), store: withShared(shared) });
    const told = new Promise<Error>((resolve) => sender.on("storeError", ({ error }) => resolve(error)));
    await shared.put(1, JSON.stringify({ sources: [{ name: "a", destinations: [], colour: "red" }] }));
    expect((await told).cause).toBeInstanceOf(SettingsError);
    expect(sender.settings).toEqual(settingsTo(ENDPOINT_URL));
  });

  it("need a store that shares them; where one process owns the store, update() is configure()", async () => {
    await expect(createSender({ sources: "shared", store: sqliteStore() })).rejects.toThrow(
      /several processes share/u,
    );
    const sender = await openSender(settingsTo(ENDPOINT_URL));
    await sender.update(settingsTo("http://127.0.0.1:10/"));
    expect(sender.settings).toEqual(settingsTo("http://127.0.0.1:10/"));
  });
});

describe("an audience that two processes sync", () => {
  it("announces each change once: the later one reads again", async () => {
    const receiver = await startReceiver();
    let isTaken = true;
    const store = changedStore(sqliteStore(), (real) => ({
      async accept(acceptance) {
        if (acceptance.traits === undefined || !isTaken) return real.accept(acceptance);
        isTaken = false;
        // Another process was quicker, with the same change.
        await real.accept(acceptance);
        throw new StoreError("ERR_STORE_CHANGED", "The trait has another version.");
      },
    }));
    const sender = await openSender({ url: receiver.url, store });
    const { changed } = await sender.syncAudience("VIP", ["u1", "u2"]);
    await sender.idle();
    expect(changed).toEqual([]);
    expect(receiver.received).toHaveLength(2);
    expect((await sender.syncAudience("VIP", ["u1", "u3"])).changed).toEqual(["u3"]);
  });

  it("gives up when the store says that it changed for ever, with the store's error", async () => {
    const changed = new StoreError("ERR_STORE_CHANGED", "The trait has another version.");
    const store = changedStore(sqliteStore(), () => ({ accept: () => Promise.reject(changed) }));
    const sender = await openSender({ url: ENDPOINT_URL, store });
    await expect(sender.syncAudience("VIP", ["u1"])).rejects.toBe(changed);
  });
});
