import { join } from "node:path";
import Database from "libsql";
import { describe, expect, it } from "vitest";
import { rejection } from "../../src/ingest/interpret-request.ts";
import { Ledger } from "../../src/ledger/ledger.ts";
import { closing, temporaryDirectory } from "../support/resources.ts";

const HOUR = 3_600_000;

function open(path = ":memory:"): Ledger {
  return closing(new Ledger(path));
}

function rowsIn(path: string, table: string): number {
  const db = new Database(path, { readonly: true });
  const { count } = db.prepare(`SELECT count(*) AS count FROM ${table}`).get() as { count: number };
  db.close();
  return count;
}

describe("the ledger", () => {
  it("keeps the last thousand rejected messages, however many there were", async () => {
    const ledger = open();
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
  });

  it("has room for ids, however large the messages are that anyone has rejected", async () => {
    const ledger = closing(new Ledger(":memory:", 4_194_304));
    for (let n = 0; n < 200; n += 1) {
      await ledger.keepRejections(
        [rejection("unknown_type", { n, a: "\u4e2d".repeat(32_000) })],
        undefined,
        n,
      );
    }
    expect(ledger.hasRoom(0)).toBe(true);
    const kept = ledger.rejections(1_000).map(({ message }) => message.slice(0, 9));
    expect(kept).toHaveLength(10);
    expect([kept[0], kept.at(-1)]).toEqual(['{"n":199,', '{"n":190,']);
  });

  it("forgets what is older than a day, so that its file does not grow without end", async () => {
    const path = join(temporaryDirectory(), "server.db");
    const ledger = open(path);
    for (let n = 0; n < 100; n += 1) await ledger.remember({ source: "shop", key: `m${n}` }, n * HOUR);
    expect(ledger.hasSeen({ source: "shop", key: "m99" }, 99 * HOUR)).toBe(true);
    expect(ledger.hasSeen({ source: "blog", key: "m99" }, 99 * HOUR)).toBe(false);
    expect(rowsIn(path, "seen")).toBe(24);
  });

  it("distinguishes keys that differ in unpaired surrogates or NUL characters", async () => {
    const ledger = open();
    await ledger.remember({ source: "shop", key: "m\ud800" }, 0);
    await ledger.remember({ source: "shop", key: "n\0a" }, 0);
    const seen = ["m\ud800", "m\ud801", "m\ufffd", '"m\\ud800"', "n\0a", "n\0b", "n"].map((key) =>
      ledger.hasSeen({ source: "shop", key }, 0),
    );
    expect(seen).toEqual([true, false, false, false, true, false, false]);
  });

  it("resolves only after the file contains the messages", async () => {
    const path = join(temporaryDirectory(), "server.db");
    const ledger = open(path);
    await Promise.all(["a", "b"].map((key) => ledger.remember({ source: "shop", key }, 0)));
    expect(rowsIn(path, "seen")).toBe(2);
  });

  it("refuses a file of a newer version, and a file of another program", () => {
    const path = join(temporaryDirectory(), "server.db");
    const db = new Database(path);
    db.exec("PRAGMA user_version = 99");
    db.close();
    expect(() => new Ledger(path)).toThrow(
      `${path} was written by a newer version of countersign. Use that version, or another data directory.`,
    );
  });

  it("rejects what it cannot write", async () => {
    const ledger = open();
    const cannot = ledger.remember({ source: Symbol("shop") as unknown as string, key: "a" }, 0);
    await expect(cannot).rejects.toThrow("can only bind");
    await ledger.remember({ source: "shop", key: "a" }, 0);
    expect(ledger.hasSeen({ source: "shop", key: "a" }, 0)).toBe(true);
  });
});
