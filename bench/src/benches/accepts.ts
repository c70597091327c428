import { join } from "node:path";
import { createSender, sqliteStore } from "@countersign/sender";
import Database from "libsql";
import type { Bench } from "../harness/bench.ts";
import { alternate, type Contender } from "../harness/contest.ts";
import { compare, type Row } from "../harness/row.ts";
import { trackOrder } from "../support/calls.ts";
import { withTemporaryFolder } from "../support/temporary-folder.ts";
import { silentTransport } from "../support/transports.ts";

const SLICE_MS = 400;
const SCHEMA = `
  PRAGMA journal_mode = WAL;
  PRAGMA synchronous = FULL;
  CREATE TABLE message (row INTEGER PRIMARY KEY, id TEXT NOT NULL, body BLOB NOT NULL);
  CREATE TABLE delivery (id TEXT PRIMARY KEY, message INTEGER NOT NULL, due_at INTEGER NOT NULL) WITHOUT ROWID;
  CREATE INDEX due ON delivery (due_at);
`;

/** Does `step` for a while; returns how many of its units it did a second. */
async function rate(units: number, step: () => unknown): Promise<number> {
  const start = performance.now();
  let done = 0;
  while (performance.now() - start < SLICE_MS) {
    await step();
    done += units;
  }
  return (done / (performance.now() - start)) * 1_000;
}

/** A message and a delivery, some to a commit, in SQL. */
function bareSql(path: string, atOnce: number): { contender: Contender; close: () => void } {
  const db = new Database(path);
  db.exec(SCHEMA);
  const message = db.prepare("INSERT INTO message (id, body) VALUES (?, ?)");
  const delivery = db.prepare("INSERT INTO delivery VALUES (?, ?, ?)");
  const body = Buffer.alloc(550, "x");
  let row = 0;
  const step = (): void => {
    db.exec("BEGIN IMMEDIATE");
    for (let count = 0; count < atOnce; count += 1) {
      row += 1;
      const id = `019b76da-a800-75c9-b086-${String(row).padStart(12, "0")}`;
      delivery.run([id, message.run([id, body]).lastInsertRowid, row]);
    }
    db.exec("COMMIT");
  };
  return { contender: { name: "sql", measure: () => rate(atOnce, step) }, close: () => void db.close() };
}

export const accepts: Bench = {
  name: "accepts",
  about: "calls a second stored for good, against the same rows written with bare SQL",
  run: ({ rounds, progress }) =>
    withTemporaryFolder(async (folder) => {
      const rows: Row[] = [];
      for (const atOnce of [1, 10, 100, 1_000]) {
        progress(`accepts, ${atOnce} at once`);
        const sql = bareSql(join(folder, `sql-${atOnce}.db`), atOnce);
        const store = sqliteStore({ path: join(folder, `sender-${atOnce}.db`) });
        const sender = await createSender({
          url: "http://127.0.0.1:9/",
          store,
          transport: silentTransport(),
        });
        const calls = (): Promise<unknown> =>
          Promise.all(Array.from({ length: atOnce }, (_, index) => trackOrder(sender, index)));
        const contenders = [{ name: "sender", measure: () => rate(atOnce, calls) }, sql.contender];
        const measured = await alternate(contenders, { rounds: rounds(7) });
        sql.close();
        await sender.close({ deadline: 0 });
        const what = `calls stored, ${atOnce.toLocaleString("en")} at once`;
        const versus = { what, against: "bare SQL, the same commits", unit: "calls/s" };
        rows.push(compare(measured, { ...versus, ours: "sender", theirs: "sql" }));
      }
      return { rows };
    }),
};
