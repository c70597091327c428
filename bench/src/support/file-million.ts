import { createSender, type Sender, sqliteStore } from "@countersign/sender";
import Database from "libsql";

/** Rows made with one command. */
const AT_ONCE = 50_000;

/** So many, of the oldest, are like no others: whoever looks for them from the newest on reads all. */
const OLDEST = 50;

/** The nth of them, from `?1` to `?2`; `?3` is when the first was accepted, a millisecond before the next. */
const NUMBERS = `WITH RECURSIVE numbers (n) AS (SELECT ?1 UNION ALL SELECT n + 1 FROM numbers WHERE n < ?2)`;
const BODY = `'{"version":1,"type":"track","userId":"user","event":"Order Completed","note":"${"x".repeat(400)}"}'`;

const INFO = `seq, id, message, destination, accepted_at, message_id, type, source, identity, event`;
/** The values of {@link INFO}: many users and messages, few types and events; half of all is one event, and a fifth of one user. */
const ABOUT = `n, 'old' || printf('%020d', n), n, 'bench/d0', ?3 + n, 'message-' || n, iif(n % 1000 = 0, 'identify', 'track'), 'bench',
  iif(n % 5 = 0, 'anonymous', 'user-' || (n % 100000)),
  CASE WHEN n % 1000 = 0 THEN NULL WHEN n <= ${OLDEST} THEN 'Oldest' WHEN n % 4 < 2 THEN 'Order Completed' ELSE 'Event ' || (n % 200) END`;

/** Of a thousand, one was rejected, and ten were answered 201. */
const RESULT = `1, 1, iif(n <= ${OLDEST}, 'https://example.com/oldest', 'https://example.com/hooks'), ?3 + n, 1.5,
  iif(n % 1000 = 1, 'rejected', 'success'), CASE WHEN n % 1000 = 1 THEN 410 WHEN n <= ${OLDEST} THEN 202 WHEN n % 100 = 2 THEN 201 ELSE 200 END, ''`;

/** What waits, or what has ended. */
export type Pile = "pending" | "ended";

/** What a pile has besides: its columns, and their values. */
const PILES: Readonly<Record<Pile, readonly [columns: string, values: string]>> = {
  pending: [`state, due_at`, `'pending', ?3 + n`],
  ended: [
    `state, ended_at, rounds, attempts, round, endpoint, started_at, duration_ms, outcome, status, response`,
    `iif(n % 1000 = 1, 'failed', 'delivered'), ?3 + n + 5, 1, ${RESULT}`,
  ],
};

/** Opens a file with a sender that delivers nothing of a pile. */
export function openFile(path: string): Promise<Sender> {
  return createSender({
    sources: [{ name: "other", destinations: [{ endpoints: [{ url: "http://127.0.0.1:9/" }] }] }],
    store: sqliteStore({ path }),
  });
}

/** Makes a file that has so many deliveries, as another process would have left them. */
export async function pileInFile(path: string, of: Pile, count: number): Promise<void> {
  // It makes the tables.
  await (await openFile(path)).close();
  const [columns, values] = PILES[of];
  const db = new Database(path);
  db.exec("PRAGMA synchronous = OFF; PRAGMA cache_size = -200000");
  try {
    const firstAt = Date.now() - count - 1_000;
    const commands = [
      `INSERT INTO message ${NUMBERS} SELECT n, '', '', '', '', NULL, CAST(${BODY} AS BLOB) FROM numbers WHERE ?3 > 0`,
      `INSERT INTO delivery (${INFO}, ${columns}) ${NUMBERS} SELECT ${ABOUT}, ${values} FROM numbers`,
    ].map((sql) => db.prepare(sql));
    for (let from = 1; from <= count; from += AT_ONCE) {
      for (const command of commands) command.run([from, Math.min(from + AT_ONCE - 1, count), firstAt]);
    }
  } finally {
    db.close();
  }
}
