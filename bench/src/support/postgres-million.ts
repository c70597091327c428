import pg from "pg";

/** Rows made with one command. */
const AT_ONCE = 50_000;

const INFO = `source, id, destination, message, message_day, message_id, type, identity, event, accepted_at`;
const BODY = `convert_to('{"version":1,"type":"track","userId":"user","event":"Order Completed","note":"' || repeat('x', 400) || '"}', 'UTF8')`;

/** The nth of them, from `$1` to `$2`; `$3` is when the first was accepted, a millisecond before the next. */
const OLD = `SELECT 'bench' AS source, 'old' || lpad(n::text, 20, '0') AS id, 'bench/d0' AS destination,
  $3::bigint + n AS at, ($3::bigint + n) / 86400000 AS day, n FROM generate_series($1::int, $2::int) AS n`;

/** The column values of {@link INFO}: many users and messages, few types and events. */
const ABOUT = `source, id, destination, id, day, 'message-' || n, CASE WHEN n % 1000 = 0 THEN 'identify' ELSE 'track' END,
  'user-' || n % 100000, CASE WHEN n % 1000 = 0 THEN NULL ELSE 'Event ' || n % 200 END, at`;

async function withClient<T>(database: string, action: (client: pg.Client) => Promise<T>): Promise<T> {
  const client = new pg.Client({ connectionString: database });
  await client.connect();
  try {
    await client.query("SET synchronous_commit = off");
    return await action(client);
  } finally {
    await client.end();
  }
}

/** Runs a command for so many rows, some thousand at a time. */
async function inParts(client: pg.Client, sql: string, count: number, firstAt: number): Promise<void> {
  for (let from = 1; from <= count; from += AT_ONCE) {
    await client.query(sql, [from, Math.min(from + AT_ONCE - 1, count), firstAt]);
  }
}

/** Stores so many pending deliveries that are due, as another process would have left them. */
export function pilePending(database: string, schema: string, count: number): Promise<void> {
  return withClient(database, async (client) => {
    const firstAt = Date.now() - count - 1_000;
    const bodies = `INSERT INTO ${schema}.message (source, id, day, body) SELECT source, id, day, ${BODY} FROM (${OLD}) AS o`;
    await inParts(client, bodies, count, firstAt);
    const pending = `INSERT INTO ${schema}.delivery (${INFO}, due_at) SELECT ${ABOUT}, at FROM (${OLD}) AS o`;
    await inParts(client, pending, count, firstAt);
    const tally = `INSERT INTO ${schema}.tally (source, destination, day, writer, pending) VALUES ('bench', 'bench/d0', -1, 'pile', $1)`;
    await client.query(tally, [count]);
    await client.query(`VACUUM ANALYZE ${schema}.delivery`);
  });
}

/** Stores so many deliveries that have ended: of a thousand, one failed, and ten were answered 201. */
export function pileEnded(database: string, schema: string, count: number): Promise<void> {
  return withClient(database, async (client) => {
    const firstAt = Date.now() - count - 1_000;
    const log = `'[{"round":1,"endpoint":"https://example.com/hooks","outcome":"success","status":200,"response":""}]'`;
    const ended = `INSERT INTO ${schema}.ended (${INFO}, rounds, attempts, last, last_outcome, last_status, last_endpoint, day, state, ended_at, log)
      SELECT ${ABOUT}, 1, 1, NULL, CASE WHEN n % 1000 = 1 THEN 'rejected' ELSE 'success' END,
        CASE WHEN n % 1000 = 1 THEN 410 WHEN n % 100 = 2 THEN 201 ELSE 200 END, 'https://example.com/hooks', day,
        CASE WHEN n % 1000 = 1 THEN 'failed' ELSE 'delivered' END, at + 5, ${log} FROM (${OLD}) AS o`;
    await inParts(client, ended, count, firstAt);
    await client.query(`VACUUM ANALYZE ${schema}.ended`);
  });
}
