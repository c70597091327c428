import { execFile } from "node:child_process";
import { join } from "node:path";
import { setImmediate as nextTurn } from "node:timers/promises";
import { promisify } from "node:util";
import Database from "libsql";
import { describe, expect, it } from "vitest";
import { rejection } from "../../src/ingest/rejections.ts";
import { Ledger } from "../../src/ledger/ledger.ts";
import { holdDisk } from "../../../sender/test/support/held-disk.ts";
import { listsOpenFiles, openFilesIn } from "../../../../tests/support/open-files.ts";
import { cleanUp, closing, temporaryDirectory } from "../../../../tests/support/resources.ts";

const HOUR = 3_600_000;

async function open(path = ":memory:"): Promise<Ledger> {
  return closing(await Ledger.open(path));
}

/** A ledger as version 1 wrote it, with messages that were accepted. */
function earlierLedger(path: string, seen: readonly (readonly [string, string, number])[]): void {
  const db = new Database(path);
  db.exec(`
    CREATE TABLE seen (source TEXT NOT NULL, key TEXT NOT NULL, at INTEGER NOT NULL, PRIMARY KEY (source, key)) WITHOUT ROWID;
    CREATE INDEX seen_at ON seen (at);
    CREATE TABLE rejections (id INTEGER PRIMARY KEY AUTOINCREMENT, at INTEGER NOT NULL, source TEXT, rejection TEXT NOT NULL, message TEXT NOT NULL);
    PRAGMA user_version = 1;
  `);
  const insert = db.prepare("INSERT INTO seen VALUES (?, ?, ?)");
  for (const row of seen) insert.run(...row);
  db.close();
}

function rowsIn(path: string, table: string): number {
  const db = new Database(path, { readonly: true });
  const { count } = db.prepare(`SELECT count(*) AS count FROM ${table}`).get() as { count: number };
  db.close();
  return count;
}

/** Where a ledger may be. */
const PLACES = [
  ["in memory", () => ":memory:"],
  ["in a file", () => join(temporaryDirectory(), "server.db")],
] as const;

describe("the ledger", () => {
  it("says what to install where its database cannot be loaded", async () => {
    const module = JSON.stringify(new URL("../../dist/ledger/ledger-file.js", import.meta.url));
    const code = `const { openLedgerFile } = await import(${module});
      await openLedgerFile(process.argv[1]).catch(({ code, message }) => console.log(code, message));`;
    const path = join(temporaryDirectory(), "server.db");
    const args = ["--no-addons", "--input-type=module", "--eval", code, path];
    const { stdout } = await promisify(execFile)(process.execPath, args);
    expect(stdout).toMatch(
      /^ERR_DATA_UNREADABLE Rejected messages cannot be kept: the database, libsql, cannot be loaded\. Install .*\n$/,
    );
  });

  it.each(PLACES)(
    "keeps the last thousand rejected messages, however many there were, %s",
    async (_, place) => {
      const ledger = await open(place());
      for (let n = 0; n < 6; n += 1) {
        const messages = Array.from({ length: 400 }, (_, index) => ({ messageId: `${n}-${index}` }));
        await ledger.keepRejections(
          messages.map((message) => rejection("missing_type", message)),
          "shop",
          n,
        );
      }
      const kept = ledger.rejections(10_000);
      expect(kept).toHaveLength(1_000);
      expect(kept[0]).toMatchObject({ messageId: "5-399", source: "shop", reason: "missing_type" });
      expect(kept.at(-1)).toMatchObject({ messageId: "3-200" });
    },
  );

  it("keeps its log when its file is opened again in this process, and then read by another program", async () => {
    const path = join(temporaryDirectory(), "server.db");
    const ledger = await open(path);
    await open(path);
    const code = `import Database from "libsql";
      const db = new Database(process.argv[1]);
      db.exec("SELECT 1 FROM rejections");
      db.close();`;
    const args = ["--input-type=module", "--eval", code, path];
    await promisify(execFile)(process.execPath, args, { cwd: import.meta.dirname });
    // Whoever closes a database last removes its log, with what is kept from now on.
    await ledger.keepRejections([rejection("missing_type", { messageId: "kept" })], "shop", 0);
    expect(rowsIn(path, "rejections")).toBe(1);
  });

  it("says why it could not keep messages when SQLite has undone all by itself, as on a full disk", async () => {
    const folder = temporaryDirectory();
    const path = join(folder, "server.db");
    const ledger = await open(path);
    const other = new Database(path);
    cleanUp(() => other.close());
    other.exec(
      "CREATE TRIGGER full BEFORE INSERT ON rejections BEGIN SELECT raise(ROLLBACK, 'The disk is full.'); END",
    );
    const keep = (messageId: string): Promise<void> =>
      ledger.keepRejections([rejection("missing_type", { messageId })], "shop", 0);
    const error: unknown = await keep("lost").catch((error: unknown) => error);
    other.exec("DROP TRIGGER full");
    await keep("kept");
    expect(ledger.rejections(10).map(({ messageId }) => messageId)).toEqual(["kept"]);
    other.close();
    await ledger.close();
    // Though the error is kept.
    if (listsOpenFiles) expect(openFilesIn(folder)).toEqual([]);
    expect(String(error)).toContain("The disk is full.");
  });

  it("lets the process go on while the disk is busy, and writes what has come meanwhile at once", async () => {
    const ledger = await open(join(temporaryDirectory(), "server.db"));
    const keep = (messageId: string): Promise<void> =>
      ledger.keepRejections([rejection("missing_type", { messageId })], "shop", 0);
    const disk = holdDisk();
    const kept: string[] = [];
    const all = [keep("first").then(() => kept.push("first"))];
    for (const messageId of ["second", "third", "fourth"]) {
      for (let turn = 0; turn < 20; turn += 1) await nextTurn();
      all.push(keep(messageId).then(() => kept.push(messageId)));
    }
    expect(kept).toEqual([]);
    expect(disk.asked).toBe(1);
    // What is read need not be on the disk.
    expect(ledger.rejections(10)).toMatchObject([{ messageId: "first" }]);

    disk.release();
    await Promise.all(all);
    expect(disk.asked).toBe(2);
    expect(ledger.rejections(10)).toHaveLength(4);
  });

  it("closes when the disk has everything", async () => {
    const path = join(temporaryDirectory(), "server.db");
    const ledger = await open(path);
    const disk = holdDisk();
    const kept = ledger.keepRejections([rejection("missing_type", { messageId: "m1" })], "shop", 0);
    for (let turn = 0; turn < 20; turn += 1) await nextTurn();
    const closed = Promise.all([ledger.close(), ledger.close()]);
    disk.release();
    await Promise.all([kept, closed]);
    expect(rowsIn(path, "rejections")).toBe(1);
  });

  it("keeps which endpoints accept forgeries, also in a file of a version that did not", async () => {
    const path = join(temporaryDirectory(), "server.db");
    const db = new Database(path);
    db.exec(`
      CREATE TABLE rejections (id INTEGER PRIMARY KEY AUTOINCREMENT, at INTEGER NOT NULL, source TEXT, rejection TEXT NOT NULL, message TEXT NOT NULL);
      PRAGMA user_version = 2;
    `);
    db.close();
    const place = { destination: "default/webhooks", url: "http://localhost:3000/webhooks" };
    const one = {
      ...place,
      delivery: "1",
      fault: "bad_signature",
      status: 200,
      at: "2026-01-31T15:00:00.000Z",
    };
    const first = await open(path);
    expect(first.forgeries()).toEqual([]);
    void first.keepForgeries([one]);
    await first.keepForgeries([{ ...one, delivery: "2" }, one]);
    expect(first.forgeries()).toEqual([{ ...one, delivery: "2" }, one]);
    // What waits for the end of the turn is written first.
    void first.keepForgeries([one]);
    await first.close();
    const second = await open(path);
    expect(second.forgeries()).toEqual([one]);
    await second.keepForgeries([]);
    expect(second.forgeries()).toEqual([]);
  });

  it.each(PLACES)("keeps less when what anyone sends to be rejected is large, %s", async (_, place) => {
    const ledger = closing(await Ledger.open(place(), 1_048_576));
    for (let n = 0; n < 200; n += 1) {
      await ledger.keepRejections(
        [rejection("unknown_type", { n, a: "\u4e2d".repeat(32_000) })],
        undefined,
        n,
      );
    }
    const kept = ledger.rejections(1_000).map(({ message }) => message.slice(0, 9));
    expect(kept).toHaveLength(10);
    expect([kept[0], kept.at(-1)]).toEqual(['{"n":199,', '{"n":190,']);
  });

  it.each([
    [
      {
        writeKey: "secret",
        a: [1, -0, Number.POSITIVE_INFINITY, "\ud800\u0000é", null, true, [], {}],
        b: { writeKey: 1, c: [{}, [[]]] },
      },
    ],
    [JSON.parse('{"__proto__":{"toJSON":1},"":{"length":2},"1":[[1],"2"]}')],
    ["x".repeat(40_000)],
    [{ [`k${"é".repeat(40_000)}`]: 1 }],
    [Array.from({ length: 20_000 }, (_, index) => ({ [index]: "\n" }))],
    [null],
    [undefined],
  ])("keeps the JSON of a rejected message without its write key, and cuts it (%#)", async (message) => {
    const json = JSON.stringify(message, (name, value: unknown) => (name === "writeKey" ? undefined : value));
    for (const [, place] of PLACES) {
      const ledger = await open(place());
      await ledger.keepRejections([rejection("missing_type", message)], "shop", 0);
      expect(ledger.rejections(1)[0]?.message).toBe((json ?? "").slice(0, 32_768));
    }
  });

  it.each(PLACES)(
    "does not lose those of one source to a flood of another one, or of nobody known, %s",
    async (_, place) => {
      const ledger = await open(place());
      const keep = (source: string | undefined, count: number): Promise<void> => {
        const all = Array.from({ length: count }, (_, n) =>
          rejection("missing_type", { messageId: `${source}-${n}` }),
        );
        return ledger.keepRejections(all, source, 0);
      };
      await keep("shop", 3);
      await keep("app", 400);
      for (let flood = 0; flood < 4; flood += 1) await keep(undefined, 1_000);
      const kept = (): readonly number[] =>
        [undefined, "app", "shop"].map(
          (name) => ledger.rejections(10_000).filter(({ source }) => source === name).length,
        );
      expect(kept()).toEqual([597, 400, 3]);
      expect(ledger.rejections(1)).toMatchObject([{ messageId: "undefined-999" }]);
      await keep("app", 1_000);
      expect(kept()).toEqual([498, 499, 3]);
      // A thousand are shown, though some more are kept for a while.
      await keep("app", 50);
      expect(ledger.rejections(10_000)).toHaveLength(1_000);
    },
  );

  it.each(PLACES)(
    "does not write what other rejections of the same turn push out: 60 bytes of gzip are a thousand of them, %s",
    async (_, place) => {
      const ledger = await open(place());
      const kept = ["a", "b", "c"].map((name) => {
        const messages = Array.from({ length: 600 }, (_, index) => ({ messageId: `${name}-${index}` }));
        return ledger.keepRejections(
          messages.map((message) => rejection("missing_type", message)),
          "shop",
          0,
        );
      });
      await Promise.all(kept);
      const rejections = ledger.rejections(10_000);
      expect(rejections.map(({ messageId }) => messageId).filter((id) => id?.endsWith("-599"))).toEqual([
        "c-599",
        "b-599",
      ]);
      expect([rejections.length, rejections[0]?.id]).toEqual([1_000, 1_000]);
    },
  );

  it("does not look at what it cuts off, which would take a tenth of a second for each message", async () => {
    const ledger = await open();
    let looked = 0;
    const item = {
      get name(): string {
        looked += 1;
        return "x".repeat(100);
      },
    };
    const many = Array.from({ length: 10_000 }, () => item);
    await ledger.keepRejections(
      [rejection("missing_type", { many, ...Object.fromEntries(Object.entries(many)) })],
      "shop",
      0,
    );
    expect(looked).toBeLessThan(400);
  });

  it("of an earlier version knows what that one accepted, to the last bit of a key", async () => {
    const path = join(temporaryDirectory(), "server.db");
    earlierLedger(path, [
      ["shop", "m1", 0],
      ["shop", '"m\\ud800"', 0],
      ["shop", "n\0a", 0],
    ]);
    const ledger = await open(path);
    const keys = ["m1", "m\ud800", "m\ud801", "m\ufffd", "n\0a", "n\0b", "n"];
    const seen = keys.map((key) => ledger.hasSeen({ source: "shop", key }, HOUR));
    expect(seen).toEqual([true, true, false, false, true, false, false]);
    expect(ledger.hasSeen({ source: "blog", key: "m1" }, HOUR)).toBe(false);
  });

  it("of an earlier version forgets that after a day, and gives the room back", async () => {
    const path = join(temporaryDirectory(), "server.db");
    earlierLedger(path, [
      ["shop", "m1", 0],
      ["shop", "m2", HOUR],
    ]);
    const ledger = await open(path);
    const isSeen = (key: string, now: number): boolean => ledger.hasSeen({ source: "shop", key }, now);
    expect([isSeen("m1", 24 * HOUR - 1), isSeen("m1", 24 * HOUR), isSeen("m2", 24 * HOUR)]).toEqual([
      true,
      false,
      true,
    ]);
    expect(isSeen("m2", 25 * HOUR)).toBe(false);
    expect(() => rowsIn(path, "seen")).toThrow("no such table");
    expect((await open(path)).hasSeen({ source: "shop", key: "m2" }, 0)).toBe(false);
  });

  it("resolves only after the file contains the messages", async () => {
    const path = join(temporaryDirectory(), "server.db");
    const ledger = await open(path);
    const rejections = ["a", "b"].map((messageId) => rejection("missing_type", { messageId }));
    await Promise.all(rejections.map((one) => ledger.keepRejections([one], "shop", 0)));
    expect(rowsIn(path, "rejections")).toBe(2);
  });

  it("refuses a file of a newer version, and a file of another program", async () => {
    const path = join(temporaryDirectory(), "server.db");
    const db = new Database(path);
    db.exec("PRAGMA user_version = 99");
    db.close();
    await expect(Ledger.open(path)).rejects.toThrow(
      `${path} was written by a newer version of countersign. Upgrade this one, or use another data directory.`,
    );
  });

  it("rejects what it cannot write, and goes on", async () => {
    const ledger = await open(join(temporaryDirectory(), "server.db"));
    const one = rejection("missing_type", {});
    await expect(ledger.keepRejections([one], Symbol("shop") as unknown as string, 0)).rejects.toThrow(
      "can only bind",
    );
    await ledger.keepRejections([one], "shop", 0);
    expect(ledger.rejections(10)).toHaveLength(1);
  });
});
