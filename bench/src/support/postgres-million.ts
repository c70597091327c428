import pg from "pg";

/** Rows made with one command. */
const AT_ONCE = 50_000;

/** So many, of the oldest, are of an event that no others have: whoever looks for them from the newest on reads all. */
const OLDEST = 1_000;

const DAY_MS = 86_400_000;

const INFO = `source, id, destination, message, message_day, message_id, type, identity, event, accepted_at`;
const BODY = `convert_to('{"version":1,"type":"track","userId":"user","event":"Order Completed","note":"' || repeat('x', 400) || '"}', 'UTF8')`;

/** The nth of them, from `$1` to `$2`; `$3` is when the first was accepted, and `$4` how long before the next, in milliseconds. */
const OLD = `SELECT 'bench' AS source, 'old' || lpad(n::text, 20, '0') AS id, 'bench/d0' AS destination,
  $3::bigint + n * $4::bigint AS at, ($3::bigint + n * $4::bigint) / ${DAY_MS} AS day, n FROM generate_series($1::int, $2::int) AS n`;

/** The column values of {@link INFO}: many users and messages, few types and events. */
const ABOUT = `source, id, destination, id, day, 'message-' || n, CASE WHEN n % 1000 = 0 THEN 'identify' ELSE 'track' END,
  'user-' || n % 100000, CASE WHEN n % 1000 = 0 THEN NULL WHEN n <= ${OLDEST} THEN 'Oldest' ELSE 'Event ' || n % 200 END, at`;

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
async function inParts(
  client: pg.Client,
  sql: string,
  count: number,
  firstAt: number,
  everyMs = 1,
): Promise<void> {
  for (let from = 1; from <= count; from += AT_ONCE) {
    await client.query(sql, [from, Math.min(from + AT_ONCE - 1, count), firstAt, everyMs]);
  }
}

/** A source has deliveries, and had some that waited. */
function tally(client: pg.Client, schema: string, pending: number): Promise<unknown> {
  const sql = `INSERT INTO ${schema}.tally (source, destination, day, writer, pending) VALUES ('bench', 'bench/d0', -1, 'pile', $1)`;
  return client.query(sql, [pending]);
}

/** Stores so many pending deliveries that are due, as another process would have left them. */
export function pilePending(database: string, schema: string, count: number): Promise<void> {
  return withClient(database, async (client) => {
    const firstAt = Date.now() - count - 1_000;
    const bodies = `INSERT INTO ${schema}.message (source, id, day, body) SELECT source, id, day, ${BODY} FROM (${OLD}) AS o`;
    await inParts(client, bodies, count, firstAt);
    const pending = `INSERT INTO ${schema}.delivery (${INFO}, due_at) SELECT ${ABOUT}, at FROM (${OLD}) AS o`;
    await inParts(client, pending, count, firstAt);
    await tally(client, schema, count);
    await client.query(`VACUUM ANALYZE ${schema}.delivery`);
  });
}

/** Stores so many deliveries that have ended, over so many days: of a thousand, one failed, and ten were answered 201. */
export function pileEnded(database: string, schema: string, count: number, days = 1): Promise<void> {
  return withClient(database, async (client) => {
    const everyMs = days === 1 ? 1 : Math.floor((days * DAY_MS) / count);
    const firstAt = Date.now() - count * everyMs - 1_000;
    const last = Math.floor(Date.now() / DAY_MS);
    for (let day = Math.floor(firstAt / DAY_MS); day <= last; day += 1) {
      const part = `${schema}.ended_${day}`;
      const { rows } = await client.query("SELECT WHERE to_regclass($1) IS NULL", [part]);
      if (rows.length === 0) continue;
      await client.query(`CREATE TABLE ${part} (LIKE ${schema}.ended INCLUDING ALL);
        ALTER TABLE ${schema}.ended ATTACH PARTITION ${part} FOR VALUES IN (${day})`);
    }
    const log = `'[{"round":1,"endpoint":"https://example.com/hooks","outcome":"success","status":200,"response":""}]'`;
    const ended = `INSERT INTO ${schema}.ended (${INFO}, rounds, attempts, last, last_outcome, last_status, last_endpoint, day, state, ended_at, log)
      SELECT ${ABOUT}, 1, 1, NULL, CASE WHEN n % 1000 = 1 THEN 'rejected' ELSE 'success' END,
        CASE WHEN n % 1000 = 1 THEN 410 WHEN n % 100 = 2 THEN 201 ELSE 200 END, 'https://example.com/hooks', day,
        CASE WHEN n % 1000 = 1 THEN 'failed' ELSE 'delivered' END, at + 5, ${log} FROM (${OLD}) AS o`;
    await inParts(client, ended, count, firstAt, everyMs);
    await tally(client, schema, 0);
    await client.query(`VACUUM ANALYZE ${schema}.ended`);
  });
}
