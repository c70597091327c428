import { createSender, sqliteStore } from "@countersign/sender";
import Database from "libsql";
import { createHash } from "node:crypto";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, onTestFinished, it } from "vitest";
import { migrate } from "../dist/sqlite/schema.js";
import { openSender } from "./support/open-sender.ts";
import { startReceiver } from "./support/receiver.ts";
import { silentTransport } from "./support/silent-transport.ts";
import { temporaryFolder } from "./support/temporary-folder.ts";

const url = "http://127.0.0.1:9/";

/** Stands for the steps that made the file: they must not run again. */
const made = "This is no SQL: a step that was taken is taken again.";

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
    url,
    store: sqliteStore({ path }),
    transport: silentTransport(),
    attemptTimeout: 0,
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

describe("a file of an older version", () => {
  it("is brought up to date step by step, each once, with everything in it", async () => {
    const { path, id, db, dump } = await oldFile();
    const before = dump();
    const steps = [
      made,
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
    expect(db.prepare("PRAGMA user_version").all([])).toEqual([{ user_version: 3 }]);
    // A second time, there is nothing left to do.
    expect(migrate(db, [made, made, made])).toEqual({ generation: 2 });

    // Without what the steps added, it is the file it was; and what was pending in it is delivered.
    db.exec("ALTER TABLE message DROP COLUMN size; DROP TABLE extra; PRAGMA user_version = 1");
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
  ])("stays as it was when a step %s, the steps before it taken back", async (_name, failing, problem) => {
    const { db, dump, fingerprint, path } = await oldFile();
    const before = { dump: dump(), fingerprint: fingerprint() };
    const steps = [made, "ALTER TABLE message ADD COLUMN size INTEGER; DELETE FROM trait;", failing];

    expect(() => migrate(db, steps)).toThrow(problem);

    expect(db.inTransaction).toBe(false);
    expect({ dump: dump(), fingerprint: fingerprint() }).toEqual(before);
    db.close();
    expect(fingerprint()).toBe(before.fingerprint);
    const sender = await openSender({ url, store: sqliteStore({ path }), transport: silentTransport() });
    expect(await sender.deliveries({ state: "pending" })).toHaveLength(2);
  });
});
