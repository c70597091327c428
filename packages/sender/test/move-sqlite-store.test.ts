import { createSender, moveSqliteStore, type Sender, sqliteStore } from "@countersign/sender";
import type { StoredDelivery, StoredPart } from "@countersign/sender/store";
import Database from "libsql";
import { copyFileSync, existsSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it, onTestFinished } from "vitest";
import { filledFile, KEY, ODD_USER } from "./support/filled-file.ts";
import { startReceiver } from "./support/receiver.ts";
import { temporaryFolder } from "./support/temporary-folder.ts";

/** A store that keeps what it is given. */
function taking(): { readonly parts: StoredPart[]; take(part: StoredPart): Promise<void> } {
  const parts: StoredPart[] = [];
  return { parts, take: async (part) => void parts.push(part) };
}

function deliveriesOf(parts: readonly StoredPart[]): readonly StoredDelivery[] {
  return parts.flatMap((part) => (part.kind === "deliveries" ? part.deliveries : []));
}

function pendingIn(path: string): number {
  const db = new Database(path);
  onTestFinished(() => void db.close());
  const sql = "SELECT count(*) FROM delivery WHERE state = 'pending'";
  return Number((db.prepare(sql).raw().get([]) as unknown[])[0]);
}

describe("moveSqliteStore", () => {
  it("gives another store all that the file has, with every attempt and every byte", async () => {
    const { path, deliveries } = await filledFile();
    const to = taking();
    const counts = await moveSqliteStore({ path, to });
    expect(counts).toEqual({ pending: 3, ended: 6, skipped: 1, keys: 2, values: 2, usage: 3 });
    const moved = deliveriesOf(to.parts);
    const byId = new Map(moved.map((delivery) => [delivery.id, delivery]));
    expect(moved).toHaveLength(deliveries.length);
    for (const delivery of deliveries) expect(byId.get(delivery.id)).toMatchObject(delivery);
    for (const { rounds, attemptsMade } of moved) expect([rounds, attemptsMade]).toEqual([1, 1]);
    // Those of one message have one body: two to both destinations each, and the copy with its original.
    expect(new Set(moved.map(({ bodyId }) => bodyId)).size).toBe(4);
    const keys = to.parts.find((part) => part.kind === "keys");
    expect(keys).toMatchObject({
      keepForMs: 259_200_000,
      keys: [{ key: "track blocked" }, { source: "shop", key: KEY }],
    });
    const traits = to.parts.filter((part) => part.kind === "trait");
    const owner = { kind: "audience", name: "Big Spenders" };
    for (const trait of traits) expect(trait).toMatchObject({ source: "shop", trait: "big_spenders", owner });
    expect(
      traits.flatMap(({ destination, values }) => [...values].map((value) => [destination, ...value])),
    ).toEqual([
      ["shop/crm", ODD_USER, "true"],
      ["shop/mail", ODD_USER, "true"],
    ]);
    expect(to.parts).toContainEqual(
      expect.objectContaining({ kind: "usage", usage: new Map([["shop", 3]]) }),
    );
    const skipped = to.parts.flatMap((part) => (part.kind === "skipped" ? part.calls : []));
    expect(skipped).toMatchObject([{ messageId: "blocked", reason: "blocked_event" }]);
  });

  it("tells its state before it moves anything, and before the history, so that nobody waits for a part of that", async () => {
    const { path } = await filledFile();
    const to = taking();
    const told: [number, boolean][] = [];
    await moveSqliteStore({
      path,
      to,
      moved: (_counts, isUsable) => void told.push([to.parts.length, isUsable]),
    });
    expect(told.at(0)).toEqual([0, false]);
    const [partsOfNeeds] = told.findLast(([, isUsable]) => !isUsable) ?? [];
    expect(told.find(([, isUsable]) => isUsable)).toEqual([partsOfNeeds, true]);
  });

  it("says that senders may start once only the history is left", async () => {
    const { path } = await filledFile();
    const told: [number, number, boolean][] = [];
    await moveSqliteStore({
      path,
      to: taking(),
      moved: ({ pending, ended }, isUsable) => void told.push([pending, ended, isUsable]),
    });
    expect(told.at(0)).toEqual([0, 0, false]);
    expect(told.filter(([, , isUsable]) => isUsable).every(([pending]) => pending === 3)).toBe(true);
    expect(told.filter(([, ended]) => ended > 0).every(([, , isUsable]) => isUsable)).toBe(true);
    expect(told.at(-1)).toEqual([3, 6, true]);
  });

  it("gives traits after what waits, since a sender that syncs on the file between two moves makes them stale", async () => {
    const { path } = await filledFile();
    const to = taking();
    await moveSqliteStore({ path, to });
    const kinds = to.parts.map(({ kind }) => kind);
    expect(kinds.indexOf("trait")).toBeGreaterThan(kinds.indexOf("deliveries"));
  });

  it("leaves nothing pending in the file, so that nothing is sent twice if it is opened again", async () => {
    const { path, deliveries, open } = await filledFile();
    await moveSqliteStore({ path, to: taking() });
    const sender = await open();
    onTestFinished(() => sender.close());
    expect(await sender.count({ state: "pending" })).toBe(0);
    // The history stays, with the body that a copy had shared.
    const ended = deliveries.filter(({ state }) => state !== "pending");
    expect(await sender.deliveries()).toEqual(ended);
    const again = taking();
    expect(await moveSqliteStore({ path, to: again }).catch((error: unknown) => error)).toMatchObject({
      code: "ERR_STORE_LOCKED",
    });
    await sender.close();
    expect(await moveSqliteStore({ path, to: again })).toMatchObject({ pending: 0, ended: 6, usage: 3 });
  });

  it("keeps what the other store has not taken, and continues when it is called again", async () => {
    const { path } = await filledFile();
    const away = new Error("The other store is away.");
    const failing = async ({ kind }: StoredPart): Promise<void> => {
      if (kind === "deliveries") throw away;
    };
    // As it is: it says nothing about the file.
    await expect(moveSqliteStore({ path, to: { take: failing } })).rejects.toBe(away);
    const moved = (): never => {
      throw away;
    };
    await expect(moveSqliteStore({ path, to: taking(), moved })).rejects.toBe(away);
    expect(pendingIn(path)).toBe(3);
    const abort = new AbortController();
    const counts = await moveSqliteStore({
      path,
      to: taking(),
      moved: ({ keys }) => keys > 0 && abort.abort(),
      signal: abort.signal,
    });
    expect(counts).toMatchObject({ keys: 2, pending: 0 });
    expect(pendingIn(path)).toBe(3);
    expect(await moveSqliteStore({ path, to: taking() })).toMatchObject({ pending: 3, ended: 6 });
  });

  it("takes first what the other store may have got as pending, and a sender on the file has ended since", async () => {
    const path = join(temporaryFolder(), "deliveries.db");
    const answer = { status: 503 };
    const receiver = await startReceiver(() => answer);
    const open = (): Promise<Sender> =>
      createSender({
        sources: [{ name: "shop", destinations: [{ name: "crm", endpoints: [{ url: receiver.url }] }] }],
        store: sqliteStore({ path }),
      });
    const before = await open();
    const { deliveries } = await before.track({ userId: "u1", event: "Waits" });
    await before.close();
    const unanswered = async ({ kind }: StoredPart): Promise<void> => {
      if (kind === "deliveries") throw new Error("Stored, and the answer did not come.");
    };
    await expect(moveSqliteStore({ path, to: { take: unanswered } })).rejects.toThrow("did not come");

    const between = await open();
    answer.status = 200;
    await between.retry({ filter: {} });
    await expect.poll(() => between.count({ state: "pending" })).toBe(0);
    answer.status = 503;
    await between.track({ userId: "u1", event: "Later" });
    await between.close();
    const states = async (): Promise<readonly string[]> => {
      const to = taking();
      await moveSqliteStore({ path, to });
      return deliveriesOf(to.parts).map(({ id, state }) => `${id === deliveries[0]} ${state}`);
    };
    expect(await states()).toEqual(["true delivered", "false pending", "true delivered"]);
    // Nothing is in doubt any more.
    expect(await states()).toEqual(["true delivered"]);
  });

  it("throws what the other store or the caller throws as it is, since the file did not fail", async () => {
    const { path } = await filledFile();
    const error = new TypeError("The settings do not fit.");
    const failing = (): void => {
      throw error;
    };
    await expect(moveSqliteStore({ path, to: taking(), moved: failing })).rejects.toBe(error);
    const away = new Error("away");
    await expect(moveSqliteStore({ path, to: { take: () => Promise.reject(away) } })).rejects.toBe(away);
  });

  it("names the file the same each time, so that its usage is counted once", async () => {
    const { path } = await filledFile();
    const to = taking();
    await moveSqliteStore({ path, to });
    await moveSqliteStore({ path, to });
    const from = to.parts.flatMap((part) => (part.kind === "usage" ? [part.from] : []));
    expect(from).toHaveLength(2);
    expect(new Set(from).size).toBe(1);
  });

  it("reads many of each kind, some at a time", async () => {
    const path = join(temporaryFolder(), "deliveries.db");
    const endpoints = [{ url: "http://127.0.0.1:9/" }];
    const sources = [{ name: "shop", destinations: [{ name: "crm", endpoints, enabled: true }] }];
    const sender = await createSender({ sources, store: sqliteStore({ path }), deliver: false });
    const users = Array.from({ length: 2_500 }, (_, index) => `u${index}`);
    await sender.syncAudience("All", users);
    const timestamp = new Date().toISOString();
    const calls = users.map((userId) => ({ type: "identify" as const, userId, key: userId, timestamp }));
    await sender.accept(calls, { uniqueFor: "1d" });
    await sender.close();
    const to = taking();
    expect(await moveSqliteStore({ path, to })).toMatchObject({ pending: 5_000, keys: 2_500, values: 2_500 });
    expect(new Set(deliveriesOf(to.parts).map(({ id }) => id)).size).toBe(5_000);
    expect(pendingIn(path)).toBe(0);
  });

  it.each(["postgres://user:pa55word@127.0.0.1/app", "file:deliveries.db"])(
    "refuses a URL without repeating it, since it may have a password: %s",
    async (path) => {
      await expect(moveSqliteStore({ path, to: taking() })).rejects.toThrow(
        new TypeError("moveSqliteStore({ path }) must be the path of a file, not a URL."),
      );
    },
  );

  it("refuses a file that is not there, and makes none", async () => {
    const path = join(temporaryFolder(), "none.db");
    await expect(moveSqliteStore({ path, to: taking() })).rejects.toMatchObject({ code: "ERR_STORE_OPEN" });
    expect(existsSync(path)).toBe(false);
  });

  it("refuses audiences of an older version, whose destinations a sync has yet to say, and moves nothing", async () => {
    const path = join(temporaryFolder(), "deliveries.db");
    copyFileSync(new URL("fixtures/store-658f33b/deliveries.db", import.meta.url), path);
    const to = taking();
    await expect(moveSqliteStore({ path, to })).rejects.toThrow(/big_spenders, lifetime_value.*sync each/u);
    expect(to.parts).toEqual([]);
    expect(pendingIn(path)).toBe(2);
  });

  it("refuses a store that cannot take anything over, and options that it does not know", async () => {
    const { path } = await filledFile();
    await expect(moveSqliteStore({ path, to: sqliteStore() })).rejects.toThrow(TypeError);
    const wrong = { path, store: taking() } as unknown as Parameters<typeof moveSqliteStore>[0];
    await expect(moveSqliteStore(wrong)).rejects.toThrow(TypeError);
  });
});
