// How many calls a second are stored for good, against what bare SQL can write of the same rows to the same disk.
//
//   node packages/sender/bench/durable-accepts.mjs
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { performance } from "node:perf_hooks";
import { createSender, sqliteStore } from "@countersign/sender";
import Database from "libsql";
import { silentTransport } from "./support/instant-transport.mjs";

const sliceMs = 500;
const slices = 6;
const folder = mkdtempSync(join(tmpdir(), "countersign-accepts-"));

/** Does `step` for a while; returns how many of its units it did per second. */
async function rate(units, step) {
  const start = performance.now();
  let done = 0;
  while (performance.now() - start < sliceMs) {
    await step();
    done += units;
  }
  return (done / (performance.now() - start)) * 1_000;
}

/** A sender's store that nothing is sent from. */
function open(name) {
  const store = sqliteStore({ path: join(folder, name) });
  return createSender({ url: "http://127.0.0.1:9/", store, transport: silentTransport() });
}

/** Writes the rows of a call, `atOnce` to a commit, into a store's own tables and indexes. */
async function bare(atOnce) {
  const name = `bare-${atOnce}.db`;
  await (await open(name)).close();
  const db = new Database(join(folder, name));
  db.exec("PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL");
  const message = db.prepare(
    "INSERT INTO message (message_id, type, source, identity, event, body) VALUES (?, 'track', 'default', 'user 1', 'Order Completed', ?)",
  );
  const delivery = db.prepare(
    "INSERT INTO delivery (id, message, destination, state, accepted_at, due_at) VALUES (?, ?, 'default/webhooks', 'pending', ?, ?)",
  );
  const body = Buffer.alloc(190, "x");
  let row = 0;
  return {
    rate: () =>
      rate(atOnce, () => {
        db.exec("BEGIN IMMEDIATE");
        for (let count = 0; count < atOnce; count += 1) {
          row += 1;
          const id = `019b76da-a800-75c9-b086-${String(row).padStart(12, "0")}`;
          const { lastInsertRowid } = message.run([id, body]);
          delivery.run([id, lastInsertRowid, row, row]);
        }
        db.exec("COMMIT");
      }),
    close: () => db.close(),
  };
}

async function accepting(atOnce) {
  const sender = await open(`accepts-${atOnce}.db`);
  const call = { userId: "user 1", event: "Order Completed", properties: { total: 12.5 } };
  return {
    rate: () => rate(atOnce, () => Promise.all(Array.from({ length: atOnce }, () => sender.track(call)))),
    close: () => sender.close({ deadline: 0 }),
  };
}

const median = (values) => values.toSorted((a, b) => a - b)[Math.floor(values.length / 2)];

try {
  for (const atOnce of [1, 10, 100, 1_000]) {
    const [limit, sender] = [await bare(atOnce), await accepting(atOnce)];
    const results = [];
    // In turns, so that whatever else the machine does strikes both.
    for (let slice = 0; slice < slices; slice += 1) results.push([await limit.rate(), await sender.rate()]);
    limit.close();
    await sender.close();
    const least = median(results.map(([one]) => one));
    const accepted = median(results.map(([, other]) => other));
    const ratio = median(results.map(([one, other]) => other / one));
    console.log(
      `${String(atOnce).padStart(4)} calls at once: ${String(Math.round(accepted)).padStart(6)} accepted per second, ` +
        `bare SQL ${String(Math.round(least)).padStart(6)}, ratio ${ratio.toFixed(2)}`,
    );
  }
} finally {
  rmSync(folder, { recursive: true, force: true });
}
