import { createSender, type SenderSettings, sqliteStore } from "@countersign/sender";
import { virtualClock } from "@countersign/sender/testing";
import Database from "libsql";
import { createHash } from "node:crypto";
import { copyFileSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, onTestFinished, it } from "vitest";
import { MIGRATIONS } from "../dist/sqlite/migrations.js";
import { migrate } from "../dist/sqlite/schema.js";
import { openSender } from "./support/open-sender.ts";
import { startReceiver } from "./support/receiver.ts";
import { silentTransport } from "./support/silent-transport.ts";
import { temporaryFolder } from "./support/temporary-folder.ts";

const ENDPOINT_URL = "http://127.0.0.1:9/";

/** Stands for the steps that made the file: they must not run again. */
const TAKEN = "This is no SQL: a step that was taken is taken again.";
const MADE = MIGRATIONS.map(() => TAKEN);

interface OldFile {
  readonly path: string;
  /** Its one delivery, which is pending. */
  readonly id: string;
  readonly db: Database.Database;
  /** Everything in it. */
  readonly dump: () => unknown;
  readonly fingerprint: () => string;
}

/** A file of the present version, with a pending delivery and what else a store keeps: old for steps yet to come. */
async function oldFile(): Promise<OldFile> {
  const path = join(temporaryFolder(), "deliveries.db");
  const sender = await createSender({
    url: ENDPOINT_URL,
    store: sqliteStore({ path }),
    transport: silentTransport(),
    attemptTimeout: 1,
  });
  const receipt = await sender.track({ userId: "u1", event: "Before", properties: { total: 12 } });
  await sender.syncAudience("Big Spenders", ["u1"]);
  await sender.close({ deadline: 0 });
  const db = new Database(path);
  onTestFinished(() => void db.close());
  const all = (sql: string): Record<string, unknown>[] =>
    db.prepare(sql).all([]) as Record<string, unknown>[];
  return {
    path,
    id: receipt.deliveries[0] ?? "",
    db,
    dump: () => {
      const schema = all("SELECT name, sql FROM sqlite_schema ORDER BY name");
      const tables = all("SELECT name FROM sqlite_schema WHERE type = 'table' ORDER BY name");
      const rows = tables.map(({ name }) => [name, all(`SELECT * FROM "${String(name)}" ORDER BY 1, 2`)]);
      return { schema, rows, version: all("PRAGMA user_version") };
    },
    fingerprint: () => createHash("sha256").update(readFileSync(path)).digest("hex"),
  };
}

describe("a file that the first release wrote", () => {
  const settings = (receiver: { readonly url: string }, ...names: string[]): SenderSettings => ({
    sources: [
      {
        name: "shop",
        destinations: names.map((name) => ({ name, endpoints: [{ url: `${receiver.url}${name}` }] })),
      },
    ],
  });

  function released(): string {
    const path = join(temporaryFolder(), "deliveries.db");
    copyFileSync(new URL("fixtures/store-658f33b/deliveries.db", import.meta.url), path);
    return path;
  }

  it("delivers what is pending in it, with its attempts before", async () => {
    const receiver = await startReceiver();
    const clock = virtualClock("2026-11-21T18:01:00Z");
    const sender = await openSender({
      ...settings(receiver, "crm", "mail"),
      clock,
      store: sqliteStore({ path: released() }),
    });

    await sender.idle();

    const pending = await sender.deliveries({ messageId: "pending-1" });
    expect(pending.map(({ state, attempts }) => [state, attempts.map(({ status }) => status)])).toEqual([
      ["delivered", [503, 503, 200]],
      ["delivered", [503, 503, 200]],
    ]);
    expect(receiver.received.map(({ path }) => path).toSorted()).toEqual(["/crm", "/mail"]);
    expect((await sender.stats()).sources).toEqual([{ source: "shop", usage: 2 }]);
  });

  it("does not call an endpoint again that has rejected the message", async () => {
    const receiver = await startReceiver();
    const path = released();
    const db = new Database(path);
    const progress = JSON.stringify({ [`${receiver.url}a`]: { refused: true }, [`${receiver.url}b`]: {} });
    db.prepare("UPDATE delivery SET progress = ? WHERE state = 'pending' AND destination = 'shop/crm'").run([
      progress,
    ]);
    db.close();
    const endpoints = ["a", "b"].map((name) => ({ url: receiver.url + name }));
    const sender = await openSender({
      sources: [{ name: "shop", destinations: [{ name: "crm", endpoints }] }],
      clock: virtualClock("2026-11-21T18:01:00Z"),
      store: sqliteStore({ path }),
    });

    await sender.idle();

    expect(receiver.received.map((one) => one.path)).toEqual(["/b"]);
  });

  it("knows the members and values of its traits, and announces none of them again", async () => {
    const receiver = await startReceiver();
    const path = released();
    const sender = await openSender({
      ...settings(receiver, "crm", "mail"),
      clock: virtualClock("2026-11-22"),
      store: sqliteStore({ path }),
    });

    const sync = await sender.syncAudience("Big Spenders", ["u1", "u\0three", "u4"]);

    expect(sync).toMatchObject({ changed: ["u4"], removed: ["u2"] });
    expect(sync.deliveries).toHaveLength(4);
    expect(await sender.syncComputedTrait("Lifetime Value", { u1: 12, u2: { deep: [1] } })).toMatchObject({
      changed: [],
      deliveries: [],
    });
    // From now on the names are taken, and each destination has its own.
    await expect(sender.syncAudience("big spenders", [])).rejects.toMatchObject({ code: "ERR_NAME_TAKEN" });
    sender.configure(settings(receiver, "crm", "mail", "late"));
    const late = await sender.syncAudience("Big Spenders", ["u1", "u\0three", "u4"]);
    expect(late.changed.toSorted()).toEqual(["u\0three", "u1", "u4"]);
    expect(late.deliveries).toHaveLength(3);
    await sender.close({ deadline: 0 });

    const again = await openSender({
      ...settings(receiver, "crm", "mail", "late"),
      clock: virtualClock("2026-11-22"),
      store: sqliteStore({ path }),
    });
    expect(await again.syncAudience("Big Spenders", ["u1", "u\0three", "u4"])).toMatchObject({
      deliveries: [],
    });
  });
});

describe("a file of an older version", () => {
  it("is brought up to date step by step, each once, with everything in it", async () => {
    const { path, id, db, dump } = await oldFile();
    const before = dump();
    const steps = [
      ...MADE,
      "ALTER TABLE message ADD COLUMN size INTEGER; UPDATE message SET size = length(body);",
      "CREATE TABLE extra (note TEXT); INSERT INTO extra SELECT 'largest: ' || max(size) FROM message;",
    ];

    expect(migrate(db, steps)).toEqual({ generation: 1 });

    const sizes = db.prepare("SELECT size, length(body) AS bytes FROM message").all([]) as {
      size: number;
      bytes: number;
    }[];
    expect(sizes).toHaveLength(2);
    for (const { size, bytes } of sizes) expect(size).toBe(bytes);
    const largest = Math.max(...sizes.map(({ size }) => size));
    expect(db.prepare("SELECT note FROM extra").all([])).toEqual([{ note: `largest: ${largest}` }]);
    expect(db.prepare("PRAGMA user_version").all([])).toEqual([{ user_version: MADE.length + 2 }]);
    // A second time, there is nothing left to do.
    expect(migrate(db, [...MADE, TAKEN, TAKEN])).toEqual({ generation: 2 });

    // Without what the steps added, it is the file it was; and what was pending in it is delivered.
    db.exec(`ALTER TABLE message DROP COLUMN size; DROP TABLE extra; PRAGMA user_version = ${MADE.length}`);
    db.exec("UPDATE meta SET value = 1 WHERE key = 'opened'");
    expect(dump()).toEqual(before);
    const receiver = await startReceiver();
    const sender = await openSender({ url: receiver.url, store: sqliteStore({ path }) });
    await sender.idle();
    expect((await sender.delivery(id))?.state).toBe("delivered");
    expect(receiver.received.map(({ message }) => message["type"]).toSorted()).toEqual(["identify", "track"]);
    expect((await sender.syncAudience("Big Spenders", ["u1"])).changed).toEqual([]);
  });

  it.each<[string, string, string]>([
    ["is no SQL", "ALTER TABLE message ADD COLUMN", "incomplete input"],
    [
      "does not fit what is in the file",
      "CREATE UNIQUE INDEX no_two_alike ON message (identity)",
      "UNIQUE constraint failed",
    ],
    [
      "fails in its middle",
      "DELETE FROM delivery; DROP TABLE attempt; INSERT INTO nowhere VALUES (1)",
      "no such table: nowhere",
    ],
  ])("stays as it was when a step %s: earlier steps are rolled back", async (_name, failing, problem) => {
    const { db, dump, fingerprint, path } = await oldFile();
    const before = { dump: dump(), fingerprint: fingerprint() };
    const steps = [...MADE, "ALTER TABLE message ADD COLUMN size INTEGER; DELETE FROM known_trait;", failing];

    expect(() => migrate(db, steps)).toThrow(problem);

    expect(db.inTransaction).toBe(false);
    expect({ dump: dump(), fingerprint: fingerprint() }).toEqual(before);
    db.close();
    expect(fingerprint()).toBe(before.fingerprint);
    const sender = await openSender({
      url: ENDPOINT_URL,
      store: sqliteStore({ path }),
      transport: silentTransport(),
    });
    expect(await sender.deliveries({ state: "pending" })).toHaveLength(2);
  });
});
