import { createSender, sqliteStore } from "@countersign/sender";
import Database from "libsql";
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { UNDER_PERMISSIONS } from "../../../tests/support/permission-model.ts";
import { FLUSHING_DENIED } from "./support/flushing-denied.ts";
import { temporaryFolder } from "./support/temporary-folder.ts";
import { canTrace, type PowerCut, powerCutsOf, syncsOf } from "./support/traced-disk.ts";

/** Options of Node under which it flushes no file, as Node 26 under its permission model. */
const WITHOUT_FLUSHES = [...UNDER_PERMISSIONS, "--import", FLUSHING_DENIED];

const script = join(import.meta.dirname, "support/child-acknowledging-sender.mjs");

/** The ids of the messages that a sender finds in the files that a power cut left. */
async function messagesIn({ files }: PowerCut): Promise<string[]> {
  const folder = join(temporaryFolder(), "restored");
  mkdirSync(folder, { mode: 0o700 });
  for (const [name, content] of files) writeFileSync(join(folder, name), content, { mode: 0o600 });
  const store = sqliteStore({ path: join(folder, "deliveries.db") });
  const sender = await createSender({ url: "http://127.0.0.1:9/", store, deliver: false });
  const deliveries = await sender.deliveries({ limit: 1_000 });
  await sender.close();
  return deliveries.map(({ messageId }) => messageId);
}

/** What SQLite finds in the files that a power cut left, and whether it is whole. */
function contentOf({ files }: PowerCut): { integrity: string; messages: readonly string[] } {
  const folder = temporaryFolder();
  for (const name of ["deliveries.db", "deliveries.db-wal"])
    writeFileSync(join(folder, name), files.get(name) ?? "");
  const db = new Database(join(folder, "deliveries.db"));
  try {
    const { integrity_check: integrity } = db.prepare("PRAGMA integrity_check").get([]) as Record<
      string,
      string
    >;
    const rows = db.prepare("SELECT message_id AS id FROM delivery").all([]) as { id: string }[];
    return { integrity: integrity ?? "", messages: rows.map(({ id }) => id) };
  } finally {
    db.close();
  }
}

/** The power cuts whose files differ: answers that share a commit share what is left. */
function distinct(cuts: readonly PowerCut[]): PowerCut[] {
  const bytes = ({ files }: PowerCut): number =>
    [...files.values()].reduce((sum, { length }) => sum + length, 0);
  // The last answer before the next sync vouches for all before it.
  return cuts.filter(
    (cut, index) => bytes(cut) !== bytes(cuts[index + 1] ?? { files: new Map(), acknowledged: [] }),
  );
}

/** SQL that answers for a row when its commit has returned, whether or not that waits for the disk. */
function rowsWritten(path: string, synchronous: string): string[] {
  const program = `
    import Database from "libsql";
    import { writeSync } from "node:fs";
    const db = new Database(${JSON.stringify(path)});
    db.exec("PRAGMA journal_mode = WAL; PRAGMA synchronous = ${synchronous}; CREATE TABLE t (id TEXT)");
    for (const id of ["row-1", "row-2", "row-3"]) {
      db.prepare("INSERT INTO t VALUES (?)").run([id]);
      writeSync(1, "accepted " + id + "\\n");
    }
    process.exit();`;
  return ["--input-type=module", "-e", program];
}

/** Whether the bytes of every acknowledged id are in what a power cut leaves. */
function holdsAcknowledged({ files, acknowledged }: PowerCut): boolean {
  const left = Buffer.concat([...files.values()]).toString("latin1");
  return acknowledged.every((id) => left.includes(id));
}

describe.runIf(canTrace())("a power cut (needs strace)", () => {
  it.each([
    ["right after any answer takes nothing back that was accepted", [], [], 65, 8],
    // The default concurrency: the others wait for answers.
    ["right after anything was sent takes nothing back that was sent", [], ["sent"], 20, 6],
    ["takes nothing back where Node may not flush a file, so that SQLite does", WITHOUT_FLUSHES, [], 65, 8],
  ])("%s", { timeout: 60_000 }, async (_, options, what, answers, least) => {
    const folder = temporaryFolder();
    const cuts = await powerCutsOf([...options, script, join(folder, "deliveries.db"), ...what], folder);
    expect(cuts.map(({ acknowledged }) => acknowledged.length).at(-1)).toBe(answers);
    // No answer came before the sync of what it vouches for.
    expect(cuts.filter((cut) => !holdsAcknowledged(cut)).map((cut) => cut.acknowledged.at(-1))).toEqual([]);
    // And what is left opens, with all of it.
    const different = distinct(cuts);
    expect(different.length).toBeGreaterThanOrEqual(least);
    for (const cut of different) {
      const found = await messagesIn(cut);
      expect(cut.acknowledged.filter((id) => !found.includes(id))).toEqual([]);
    }
  });

  it("after flushes that failed leaves a whole file with all that was accepted, also while it is closed", async () => {
    const folder = temporaryFolder();
    const trouble = { failing: 2, eager: "deliveries.db" };
    const cuts = await powerCutsOf([script, join(folder, "deliveries.db"), "closed"], folder, trouble);
    const accepted = cuts.filter((cut) => cut.acknowledged.length > 0);
    // Answers, and writes of the database while it is closed.
    expect(accepted.length).toBeGreaterThan(80);
    for (const cut of accepted) {
      const { integrity, messages } = contentOf(cut);
      expect(integrity).toBe("ok");
      expect(cut.acknowledged.filter((id) => !messages.includes(id))).toEqual([]);
    }
  }, 60_000);

  it("is prepared for by other threads: the process waits for no sync", { timeout: 60_000 }, async () => {
    const folder = temporaryFolder();
    const { own, others } = await syncsOf([script, join(folder, "deliveries.db")], folder);
    expect(own).toEqual([]);
    expect(new Set(others)).toEqual(new Set(["deliveries.db-wal"]));
    // Five calls were accepted one after another, and then three times twenty at once.
    expect(others.length).toBeGreaterThanOrEqual(7);
  });

  it.each([
    ["OFF", false],
    ["FULL", true],
  ])(
    "of SQLite with synchronous = %s is seen for what it is: rows kept, %s",
    { timeout: 60_000 },
    async (mode, isKept) => {
      const folder = temporaryFolder();
      const cuts = await powerCutsOf(rowsWritten(join(folder, "rows.db"), mode), folder);
      expect(cuts).toHaveLength(3);
      expect(cuts.every(holdsAcknowledged)).toBe(isKept);
    },
  );
});
