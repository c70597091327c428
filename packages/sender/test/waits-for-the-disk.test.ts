import { systemClock } from "@countersign/protocol";
import {
  type AttemptResult,
  CloseError,
  createSender,
  type Sender,
  sqliteStore,
  StoreError,
  type Transport,
} from "@countersign/sender";
import { virtualClock } from "@countersign/sender/testing";
import Database from "libsql";
import { join } from "node:path";
import { setImmediate as nextTurn } from "node:timers/promises";
import { describe, expect, it } from "vitest";
import { acceptanceOf, quietContext } from "./support/acceptances.ts";
import { answering } from "./support/answering.ts";
import { holdDisk } from "./support/held-disk.ts";
import { openSender } from "./support/open-sender.ts";
import { type Receiver, startReceiver } from "./support/receiver.ts";
import { temporaryFolder } from "./support/temporary-folder.ts";

const USER = { userId: "u1", event: "e" };

interface OnDisk {
  readonly path: string;
  readonly receiver: Receiver;
  readonly sender: Sender;
}

async function onDisk(): Promise<OnDisk> {
  const path = join(temporaryFolder(), "deliveries.db");
  const receiver = await startReceiver();
  return { path, receiver, sender: await openSender({ url: receiver.url, store: sqliteStore({ path }) }) };
}

/** Whether a promise is settled some turns of the event loop from now, in which a commit and an attempt would have begun. */
async function isSettled(promise: Promise<unknown>): Promise<boolean> {
  let settled = false;
  promise.then(
    () => (settled = true),
    () => (settled = true),
  );
  for (let turn = 0; turn < 50; turn += 1) await nextTurn();
  return settled;
}

/** Another program reads the file, so that its log cannot be emptied; the function ends that. */
function readElsewhere(path: string): () => void {
  const db = new Database(path);
  db.exec("BEGIN");
  db.prepare("SELECT count(*) FROM delivery").get([]);
  return () => {
    db.exec("ROLLBACK");
    db.close();
  };
}

function pendingIn(path: string): number {
  const db = new Database(path, { readonly: true });
  const { count } = db.prepare("SELECT count(*) AS count FROM delivery").get([]) as { count: number };
  db.close();
  return count;
}

describe("while the disk is busy", () => {
  it("the process goes on and reads the store; the call waits, and nothing is delivered", async () => {
    const { sender, receiver } = await onDisk();
    const disk = holdDisk();
    const call = sender.track(USER);

    expect(await isSettled(call)).toBe(false);
    expect(disk.asked).toBe(1);
    expect(await sender.deliveries()).toMatchObject([{ state: "pending", attempts: [] }]);
    expect(receiver.received).toEqual([]);

    disk.release();
    await (await call).settled();
    expect(receiver.received).toHaveLength(1);
  });

  it("calls of many turns wait for one commit and one flush, all of them", async () => {
    const { sender } = await onDisk();
    const disk = holdDisk();
    const first = sender.track(USER);
    expect(await isSettled(first)).toBe(false);
    const others: Promise<unknown>[] = [];
    for (let call = 0; call < 20; call += 1) {
      others.push(sender.track(USER));
      await nextTurn();
    }
    expect(await sender.deliveries()).toHaveLength(1);

    disk.release();
    await Promise.all([first, ...others]);
    expect(disk.asked).toBe(2);
  });

  it("a destination that is looked through anew is given nothing that a power cut could undo", async () => {
    const { sender, receiver } = await onDisk();
    const disk = holdDisk();
    const call = sender.track(USER);
    expect(await isSettled(call)).toBe(false);

    const [source] = sender.settings.sources;
    const destinations = source?.destinations.map((destination) => ({ ...destination, concurrency: 3 }));
    await sender.update({ sources: [{ name: source?.name ?? "", destinations: destinations ?? [] }] });
    for (let turn = 0; turn < 50; turn += 1) await nextTurn();
    expect(receiver.received).toEqual([]);

    disk.release();
    await call;
    await sender.idle();
    expect(receiver.received).toHaveLength(1);
  });

  it("deliveries go on, and the file has all that ended but some hundreds, which a kill would repeat", async () => {
    let open = (): void => {};
    const opened = new Promise<void>((resolve) => (open = resolve));
    const good = answering({ status: 200 });
    const send: Transport["send"] = (...args) => opened.then(() => good.send(...args));
    const store = sqliteStore({ path: join(temporaryFolder(), "deliveries.db") });
    const sender = await openSender({ url: "http://127.0.0.1:9/", store, transport: { ...good, send } });
    const call = { type: "track", ...USER, timestamp: "2026-01-31T08:30:00.000Z" } as const;
    await sender.accept(Array.from({ length: 1_000 }, () => call));
    const disk = holdDisk();
    const last = sender.track(USER);
    expect(await isSettled(last)).toBe(false);

    open();
    await expect.poll(() => sender.count({ state: "pending" })).toBeLessThan(300);
    expect(disk.asked).toBe(1);

    disk.release();
    await last;
    await sender.idle();
  });

  it("a repeat of a call is not answered before the call", async () => {
    const { sender } = await onDisk();
    const disk = holdDisk();
    const call = { type: "track", ...USER, timestamp: "2026-01-31T08:30:00.000Z", key: "k1" } as const;
    const first = sender.accept([call], { uniqueFor: "1h" });
    expect(await isSettled(first)).toBe(false);
    const again = sender.accept([call], { uniqueFor: "1h" });
    expect(await isSettled(again)).toBe(false);

    disk.release();
    expect((await first)[0]?.repeat).toBeUndefined();
    expect((await again)[0]?.repeat).toBe(true);
  });

  it("a virtual clock does not go on past what is about to be due", async () => {
    const path = join(temporaryFolder(), "deliveries.db");
    const receiver = await startReceiver();
    const clock = virtualClock();
    const sender = await openSender({ url: receiver.url, clock, store: sqliteStore({ path }) });
    const startedAt = clock.now();
    const disk = holdDisk();
    const call = sender.track(USER);
    await nextTurn();
    const hour = clock.advance("1h");
    expect(await isSettled(hour)).toBe(false);
    expect(clock.now()).toBe(startedAt);

    disk.release();
    const { deliveries } = await call;
    await hour;
    const [delivery] = await Promise.all(deliveries.map((id) => sender.delivery(id)));
    expect(delivery?.attempts).toMatchObject([{ startedAt }]);
  });

  it("an attempt that ends after close() writes nothing, and has nothing tried again every second", async () => {
    let end: (result: AttemptResult) => void = () => {};
    const send = (): Promise<AttemptResult> => new Promise((resolve) => (end = resolve));
    const transport: Transport = { send, close: () => Promise.resolve() };
    const store = sqliteStore({ path: join(temporaryFolder(), "deliveries.db") });
    const sender = await createSender({ url: "http://127.0.0.1:9/", store, transport });
    const { deliveries } = await sender.track(USER);
    expect(deliveries).toHaveLength(1);
    await sender.close({ deadline: 0 });

    const disk = holdDisk();
    const ended: AttemptResult = {
      outcome: "success",
      status: 200,
      durationMs: 1,
      responseBody: new Uint8Array(),
    };
    end(ended);
    for (let turn = 0; turn < 50; turn += 1) await nextTurn();
    expect(disk.asked).toBe(0);
  });

  it("close() waits for it, and says so if it takes longer than its deadline", async () => {
    const path = join(temporaryFolder(), "deliveries.db");
    const sender = await createSender({ url: "http://127.0.0.1:9/", store: sqliteStore({ path }) });
    const disk = holdDisk();
    const call = sender.track(USER);
    expect(await isSettled(call)).toBe(false);

    const closed = sender.close({ deadline: "200ms" });
    await expect(closed).rejects.toThrow(CloseError);
    await expect(closed).rejects.toMatchObject({ code: "ERR_CLOSE_LATE", part: "store" });

    disk.release();
    await call;
    expect(pendingIn(path)).toBe(1);
  });

  it("a store that closes keeps what came while it was busy, too", async () => {
    const path = join(temporaryFolder(), "deliveries.db");
    const store = sqliteStore({ path });
    await store.open(quietContext(systemClock()));
    const disk = holdDisk();
    const accept = (id: string) =>
      store.accept(acceptanceOf([{ id, destination: "shop/crm", acceptedAt: Date.now() }]));
    const first = accept("d1");
    expect(await isSettled(first)).toBe(false);
    const second = accept("d2");

    const closed = store.close();
    disk.release();
    await Promise.all([first, second, closed]);
    expect(pendingIn(path)).toBe(2);
  });
});

describe("a flush that fails", () => {
  it("is made up for, also while another program reads the file, and the call is accepted", async () => {
    const { sender, receiver, path } = await onDisk();
    const endReading = readElsewhere(path);
    const disk = holdDisk();
    const call = sender.track(USER);
    expect(await isSettled(call)).toBe(false);
    disk.fail(1);

    await (await call).settled();
    expect(receiver.received).toHaveLength(1);
    expect(sender.storeState).toMatchObject({ state: "up" });
    expect(disk.asked).toBe(2);
    endReading();
  });

  it("is not made up for while another program writes into the file", async () => {
    const { sender, receiver, path } = await onDisk();
    const disk = holdDisk();
    const call = sender.track(USER);
    expect(await isSettled(call)).toBe(false);
    const db = new Database(path);
    db.exec("BEGIN IMMEDIATE");
    sender.once("storeState", () => {
      db.exec("ROLLBACK");
      db.close();
    });
    disk.fail(1);

    // The first try is refused, since its log may have gaps; the next one comes after that.
    await (await call).settled();
    expect(disk.asked).toBe(3);
    expect(receiver.received).toHaveLength(1);
  });

  it("again and again refuses the call, which may be stored, and then delivers it once", async () => {
    const { sender, receiver, path } = await onDisk();
    const states: string[] = [];
    sender.on("storeState", ({ state }) => void states.push(state));
    const disk = holdDisk();
    disk.fail();

    const refused = await sender.track(USER).catch((error: unknown) => error);
    expect(refused).toBeInstanceOf(StoreError);
    expect(refused).toMatchObject({ code: "ERR_STORE_UNKNOWN" });
    expect(String(refused)).toContain(`The store ${path} could not be flushed to disk`);
    expect(states).toEqual(["down"]);
    expect(receiver.received).toEqual([]);

    disk.release();
    await expect.poll(() => receiver.received.length).toBe(1);
    await sender.idle();
    expect(states).toEqual(["down", "up"]);
    expect(receiver.received).toHaveLength(1);
    expect(await sender.deliveries()).toMatchObject([{ state: "delivered" }]);
  });

  it("is tried again with the same ids while the caller waits", async () => {
    const { sender, receiver } = await onDisk();
    const disk = holdDisk();
    const call = sender.track(USER);
    sender.once("storeState", () => disk.release());
    disk.fail();

    const { deliveries } = await call;
    expect(deliveries).toHaveLength(1);
    await sender.idle();
    expect(receiver.received).toHaveLength(1);
    expect((await sender.deliveries()).map(({ id }) => id)).toEqual(deliveries);
  });

  it("is tried again for a call that is skipped, which is counted once", async () => {
    const path = join(temporaryFolder(), "deliveries.db");
    const sources = [{ name: "shop", blockedEvents: ["e"], countFiltered: true, destinations: [] }];
    const sender = await openSender({ sources, store: sqliteStore({ path }) });
    const disk = holdDisk();
    const call = sender.track(USER);
    sender.once("storeState", () => disk.release());
    disk.fail();

    expect(await call).toMatchObject({ deliveries: [], skipped: "blocked_event" });
    expect((await sender.skipped()).calls).toHaveLength(1);
    expect((await sender.stats()).sources).toEqual([{ source: "shop", usage: 1 }]);
  });

  it("keeps no resend for accepted whose copy is found in the file: the disk may not have it", async () => {
    const { sender, receiver } = await onDisk();
    const [first] = await (await sender.track(USER)).settled();
    const disk = holdDisk();
    disk.fail();

    await expect(sender.resend(first?.id ?? "")).rejects.toMatchObject({ code: "ERR_STORE_UNKNOWN" });
    expect(await sender.count({ state: "pending" })).toBe(1);
    expect(receiver.received).toHaveLength(1);

    disk.release();
    await expect.poll(() => receiver.received.length).toBe(2);
  });

  it("does not have a later call delivered before one that waited for it", async () => {
    const { sender, receiver } = await onDisk();
    const [source] = sender.settings.sources;
    const destinations = source?.destinations.map((destination) => ({ ...destination, concurrency: 1 }));
    await sender.update({ sources: [{ name: source?.name ?? "", destinations: destinations ?? [] }] });
    const disk = holdDisk();
    const first = sender.track({ ...USER, event: "first" });
    expect(await isSettled(first)).toBe(false);
    const second = sender.track({ ...USER, event: "second" });
    sender.once("storeState", () => disk.release());
    disk.fail();

    await Promise.all([first, second]);
    await sender.idle();
    expect(receiver.received.map(({ message }) => message["event"])).toEqual(["first", "second"]);
  });
});

describe("a disk that does not answer", () => {
  it("keeps no delivery from being settled, which no call has to wait with, and makes the store no less down", async () => {
    let answer = (): void => {};
    const answered = new Promise<void>((resolve) => (answer = resolve));
    const good = answering({ status: 200 });
    const send: Transport["send"] = (...args) => answered.then(() => good.send(...args));
    const store = sqliteStore({ path: join(temporaryFolder(), "deliveries.db") });
    const sender = await openSender({ url: "http://127.0.0.1:9/", store, transport: { ...good, send } });
    const { deliveries } = await sender.track(USER);
    const states: string[] = [];
    const errors: unknown[] = [];
    sender
      .on("storeState", ({ state }) => void states.push(state))
      .on("storeError", (error) => void errors.push(error));
    const disk = holdDisk();
    expect(await sender.track(USER).catch(String)).toContain("its disk has not answered for 5 s");

    // Its settlement waits for something to be committed with, and here is a call.
    const call = new Promise((resolve) =>
      sender.once("attempt", () => resolve(sender.track(USER).catch(String))),
    );
    answer();
    expect(await call).toContain("its disk has not answered for 5 s");
    const [first] = deliveries;
    await expect.poll(async () => (await sender.delivery(first ?? ""))?.state).toBe("delivered");
    expect(errors).toEqual([]);
    expect(states).toEqual(["down"]);
    disk.release();
  });

  it("has calls refused after five seconds, which wait in memory, and later ones at once, until it answers", async () => {
    const { sender, receiver, path } = await onDisk();
    const disk = holdDisk();
    const startedAt = performance.now();
    const first = sender.track(USER).catch(String);
    expect(await isSettled(first)).toBe(false);
    // It waits for the first, and is not written before.
    const second = sender.track(USER).catch(String);

    expect(await first).toContain(
      `The store ${path} could not be flushed to disk, so whether it is stored is not known.`,
    );
    expect(await second).toContain(`The store ${path} failed: its disk has not answered for 5 s`);
    expect(performance.now() - startedAt).toBeGreaterThan(4_900);
    expect(await sender.track(USER).catch(String)).toContain("its disk has not answered for 5 s");
    expect(sender.storeState).toMatchObject({ state: "down" });
    expect(disk.asked).toBe(1);
    expect(receiver.received).toEqual([]);

    disk.release();
    // What it was asked to keep it has kept; the others were refused.
    await expect.poll(() => receiver.received.length).toBe(1);
    await expect.poll(() => sender.storeState.state).toBe("up");
    await (await sender.track(USER)).settled();
    expect(receiver.received).toHaveLength(2);
  });
});
