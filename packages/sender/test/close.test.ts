import {
  type AttemptResult,
  createSender,
  SenderClosedError,
  type SenderSettings,
  sqliteStore,
  type Transport,
} from "@countersign/sender";
import type { SharedSettings } from "@countersign/sender/store";
import { execFile } from "node:child_process";
import { join } from "node:path";
import { setImmediate, setTimeout as pause } from "node:timers/promises";
import { promisify } from "node:util";
import { describe, expect, it } from "vitest";
import { changedStore } from "./support/changed-store.ts";
import { openSender } from "./support/open-sender.ts";
import { startReceiver } from "./support/receiver.ts";
import { temporaryFolder } from "./support/temporary-folder.ts";

/** A promise that the test fulfils. */
function deferred<T>(): { readonly promise: Promise<T>; readonly resolve: (value: T) => void } {
  let resolve!: (value: T) => void;
  const promise = new Promise<T>((fulfil) => {
    resolve = fulfil;
  });
  return { promise, resolve };
}

interface Left {
  readonly resources: readonly string[];
  readonly files: readonly string[];
}

describe("close()", () => {
  it.runIf(process.platform === "linux")(
    "leaves no listener, timer, socket or file handle, and the process ends by itself",
    { timeout: 90_000 },
    async () => {
      const receiver = await startReceiver(({ path }) =>
        path === "/silent" ? "never" : { status: path === "/good" ? 200 : 503 },
      );
      const script = join(import.meta.dirname, "support", "child-closed-sender.mjs");
      const path = join(temporaryFolder(), "deliveries.db");
      const { stdout, stderr } = await promisify(execFile)(process.execPath, [script, receiver.url, path], {
        // It ends by itself: this only ends one that does not.
        timeout: 60_000,
      });
      expect(stderr).toBe("");
      const told = JSON.parse(stdout) as Record<"before" | "during" | "after", Left> & {
        waiting: string;
        idle: string;
      };
      expect(told.during.resources).toEqual(expect.arrayContaining(["TCPSocketWrap", "Timeout"]));
      expect(told.during.files.filter((name) => name.startsWith("socket:")).length).toBeGreaterThan(0);
      expect(told.during.files.filter((name) => name.includes(path)).length).toBeGreaterThan(2);
      expect(told.after).toEqual({ resources: [], files: told.before.files });
      expect([told.waiting, told.idle]).toEqual(["ERR_SENDER_CLOSED", "ERR_SENDER_CLOSED"]);
    },
  );

  it("begins nothing anew for settings of another process that arrive meanwhile", async () => {
    const settings = (...names: readonly string[]): SenderSettings => ({
      sources: [
        {
          name: "shop",
          writeKey: "key",
          destinations: names.map((name) => ({ name, endpoints: [{ url: "http://127.0.0.1:9/" }] })),
        },
      ],
    });
    let current = { version: 1, text: JSON.stringify(settings("crm")) };
    let changed = (): void => {};
    let isSlow = false;
    const slowly = deferred<void>();
    const shared: SharedSettings = {
      async get() {
        if (isSlow) await slowly.promise;
        return current;
      },
      put: () => Promise.resolve(1),
      watch(listener) {
        changed = () => listener(current.version);
        return () => {};
      },
    };
    const served: string[] = [];
    const store = changedStore(sqliteStore(), (own) => ({
      settings: shared,
      consume(destination, ...others) {
        served.push(destination);
        return own.consume(destination, ...others);
      },
    }));
    const attempted = deferred<void>();
    const answer = deferred<AttemptResult>();
    const transport: Transport = {
      send() {
        attempted.resolve();
        return answer.promise;
      },
      close: () => Promise.resolve(),
    };
    const sender = await createSender({ sources: "shared", store, transport });
    const told: unknown[] = [];
    sender.on("settings", (event) => told.push(event));
    await sender.track({ userId: "u1", event: "Ordered" });
    await attempted.promise;

    current = { version: 2, text: JSON.stringify(settings("crm", "mail")) };
    isSlow = true;
    changed();
    const closing = sender.close();
    slowly.resolve();
    // The sender has them by the time that the event loop has turned.
    await setImmediate();
    answer.resolve({ outcome: "success", status: 200, durationMs: 1, responseBody: new Uint8Array() });
    await closing;
    expect({ served, told }).toEqual({ served: ["shop/crm"], told: [] });
  });

  it("attempts in progress may end; pending deliveries continue at the next start", async () => {
    const path = join(temporaryFolder(), "deliveries.db");
    let answer: (() => void) | undefined;
    const answered = new Promise<void>((resolve) => (answer = resolve));
    const arrived: string[] = [];
    const receiver = await startReceiver(async ({ message }) => {
      arrived.push(String(message["event"]));
      if (message["event"] === "slow") await answered;
      return { status: 200 };
    });
    const options = {
      sources: [{ name: "shop", destinations: [{ endpoints: [{ url: receiver.url }], concurrency: 1 }] }],
    };
    const first = await createSender({ ...options, store: sqliteStore({ path }) });
    await first.track({ userId: "u1", event: "slow" });
    await first.track({ userId: "u1", event: "waiting" });
    await expect.poll(() => arrived).toEqual(["slow"]);
    const closed = first.close();
    answer?.();
    await closed;
    expect(arrived).toEqual(["slow"]);
    await expect(first.track({ userId: "u1", event: "late" })).rejects.toBeInstanceOf(SenderClosedError);

    const second = await openSender({ ...options, store: sqliteStore({ path }) });
    await second.idle();
    expect(arrived).toEqual(["slow", "waiting"]);
    expect((await second.deliveries()).map(({ attempts }) => attempts.length)).toEqual([1, 1]);
  });

  it("attempts that take longer than the deadline are given up, not counted, and made again", async () => {
    const path = join(temporaryFolder(), "deliveries.db");
    const receiver = await startReceiver(() => "never");
    const first = await createSender({ url: receiver.url, store: sqliteStore({ path }) });
    await first.track({ userId: "u1", event: "e" });
    await expect.poll(() => receiver.received.length).toBe(1);
    await first.close({ deadline: "10ms" });

    receiver.answer = () => ({ status: 200 });
    const second = await openSender({ url: receiver.url, store: sqliteStore({ path }) });
    await second.idle();
    const [delivery] = await second.deliveries();
    expect(delivery).toMatchObject({ state: "delivered", attempts: [{ round: 1, outcome: "success" }] });
    expect(delivery?.attempts).toHaveLength(1);
    expect(receiver.received).toHaveLength(2);
  });

  it("a deadline longer than a timer can run gives nothing up", async () => {
    const attempted = deferred<void>();
    // A timer that cannot run for so long would end it after a millisecond.
    const transport: Transport = {
      async send() {
        attempted.resolve();
        await pause(50);
        return { outcome: "timeout", durationMs: 50, responseBody: new Uint8Array() };
      },
      close: () => Promise.resolve(),
    };
    const sender = await openSender({ url: "http://127.0.0.1:9/", transport, retry: { windowMs: 0 } });
    const receipt = await sender.track({ userId: "u1", event: "e" });
    await attempted.promise;
    const settled = receipt.settled();
    await sender.close({ deadline: "30d" });
    expect(await settled).toMatchObject([{ state: "expired", attempts: [{ outcome: "timeout" }] }]);
  });

  it("an endpoint that rejected in a round that was given up is not called again", async () => {
    const path = join(temporaryFolder(), "deliveries.db");
    const receiver = await startReceiver(({ path }) => (path === "/silent" ? "never" : { status: 410 }));
    const endpoints = ["refuses", "silent"].map((path) => ({ url: receiver.url + path }));
    const options = { sources: [{ name: "shop", destinations: [{ endpoints }] }] };
    const first = await createSender({ ...options, store: sqliteStore({ path }) });
    const refused = new Promise<void>((resolve) => first.once("attempt", () => resolve()));
    await first.track({ userId: "u1", event: "e" });
    await refused;
    await first.close({ deadline: 0 });

    receiver.answer = () => ({ status: 200 });
    const second = await openSender({ ...options, store: sqliteStore({ path }) });
    await second.idle();
    const [delivery] = await second.deliveries();
    expect(delivery?.attempts.map(({ outcome }) => outcome)).toEqual(["rejected", "success"]);
    expect(receiver.received.filter(({ path }) => path === "/refuses")).toHaveLength(1);
  });

  it("`await using` closes it", async () => {
    const path = join(temporaryFolder(), "deliveries.db");
    const sender = await createSender({ url: "http://127.0.0.1:9/", store: sqliteStore({ path }) });
    await sender[Symbol.asyncDispose]();
    await expect(
      openSender({ url: "http://127.0.0.1:9/", store: sqliteStore({ path }) }),
    ).resolves.toBeDefined();
  });

  it("calls that are being stored when it closes are stored", async () => {
    const path = join(temporaryFolder(), "deliveries.db");
    const receiver = await startReceiver();
    const first = await createSender({ url: receiver.url, store: sqliteStore({ path }) });
    const receipts = Promise.all(Array.from({ length: 50 }, () => first.track({ userId: "u1", event: "e" })));
    await first.close();
    const ids = (await receipts).flatMap(({ deliveries }) => deliveries);
    const second = await openSender({ url: receiver.url, store: sqliteStore({ path }) });
    await second.idle();
    for (const id of ids) expect((await second.delivery(id))?.state).toBe("delivered");
  });
});
