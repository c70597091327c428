import { SERVER_START } from "../database/server-start.ts";
import { inSchema, type Names } from "../schema/names.ts";

/** A process that has the store open. */
export interface WorkerRow {
  readonly id: string;
  readonly epoch: number;
  readonly delivers: boolean;
  readonly virtual: boolean;
  /** The version of the list of workers that it came with. */
  readonly joined: number;
  /** The version of the list of workers that it keeps to. */
  readonly seen: number;
  /** When its lease ends, in microseconds since 1970: as exactly as the database knows it. */
  readonly lease_until: number;
  readonly is_over: boolean;
  /** How long ago it extended its lease, in milliseconds. */
  readonly silent_ms: number;
}

/** The answer to a heartbeat: one row for each worker. */
export interface HeartbeatRow extends WorkerRow {
  readonly members: number;
  /** The time of the database, in milliseconds since 1970. */
  readonly now: number;
  /** The server that answers, by its start. */
  readonly server: number;
  readonly settings: number | null;
}

/** Numbers, since a connection may write times, zones and fractions in a way of its own. */
const LEASE_UNTIL = "(extract(epoch FROM lease_until) * 1000000)::bigint";
const COLUMNS = `w.id, w.epoch, w.delivers, w.virtual, w.joined, w.seen, ${LEASE_UNTIL} AS lease_until, w.lease_until < clock_timestamp() AS is_over,
  (extract(epoch FROM clock_timestamp() - w.beat_at) * 1000)::bigint AS silent_ms`;
const SHARED = `(SELECT value FROM $.meta WHERE key = 'members') AS members,
  (extract(epoch FROM clock_timestamp()) * 1000)::bigint AS now,
  ${SERVER_START} AS server, (SELECT version FROM $.settings WHERE id = 1) AS settings`;

/** Extends the lease of a worker (`$3` milliseconds), says which list it keeps to, and reads the list. */
export function heartbeatSql(names: Names): string {
  return inSchema(
    names,
    `WITH fast AS (SELECT set_config('synchronous_commit', 'off', true) AS value),
    beat AS (
      UPDATE $.worker SET lease_until = clock_timestamp() + make_interval(secs => $3::float8 / 1000), beat_at = clock_timestamp(),
        seen = greatest(seen, $4::bigint)
      WHERE id = $1 AND epoch = $2 AND (SELECT value FROM fast) = 'off' RETURNING id)
    SELECT ${COLUMNS}, ${SHARED} FROM $.worker AS w LEFT JOIN beat ON true ORDER BY w.id`,
  );
}

/** The list of workers, without a change. */
export function workersSql(names: Names): string {
  return inSchema(names, `SELECT ${COLUMNS}, ${SHARED} FROM $.worker AS w ORDER BY w.id`);
}

/** A new version of the list of workers. */
export function newListSql(names: Names): string {
  return inSchema(
    names,
    `INSERT INTO $.meta AS m VALUES ('members', 1) ON CONFLICT (key) DO UPDATE SET value = m.value + 1 RETURNING value`,
  );
}

export function joinSql(names: Names): string {
  return inSchema(
    names,
    `INSERT INTO $.worker (id, epoch, lease_until, beat_at, delivers, virtual, joined, seen)
     VALUES ($1, 1, clock_timestamp() + make_interval(secs => $2::float8 / 1000), clock_timestamp(), $3, $4, $5, $5)`,
  );
}

/** Locks a worker, so that no claim of it can be under way, if it is as it was seen. */
export function lockSql(names: Names): string {
  return inSchema(names, "SELECT epoch FROM $.worker WHERE id = $1 FOR UPDATE");
}

/** Releases what is claimed by nobody in the list: a claim that was under way while its worker was removed. */
export function releaseOrphansSql(names: Names): string {
  return inSchema(
    names,
    `UPDATE $.delivery AS d SET worker = NULL, claim = NULL
     WHERE d.worker IS NOT NULL AND NOT EXISTS (SELECT FROM $.worker AS w WHERE w.id = d.worker)`,
  );
}

/** Releases what a worker claimed without knowing. */
export function releaseOthersSql(names: Names): string {
  return inSchema(
    names,
    `UPDATE $.delivery AS d SET worker = NULL, claim = NULL WHERE d.worker = $1
       AND (d.id, d.claim) NOT IN (SELECT id, claim FROM unnest($2::text[], $3::bigint[]) AS known (id, claim))`,
  );
}

/**
 * Removes a worker, if its lease is as it was seen (`$2`, or null for whatever it is): releases what it has claimed, and adds
 * what it has counted to what is nobody's. Who else removes it at the same moment waits for the lock, and finds it gone.
 */
export function removeSql(names: Names): string {
  return inSchema(
    names,
    `WITH gone AS (
      DELETE FROM $.worker WHERE id = $1 AND ($2::bigint IS NULL OR ${LEASE_UNTIL} = $2) RETURNING id),
    released AS (
      UPDATE $.delivery AS d SET worker = NULL, claim = NULL FROM gone WHERE d.worker = $1 AND gone.id = $1),
    calls AS (DELETE FROM $.usage AS u USING gone WHERE u.writer = gone.id RETURNING u.source, u.calls),
    folded_calls AS (
      INSERT INTO $.usage AS u SELECT source, '', calls FROM calls
      ON CONFLICT (source, writer) DO UPDATE SET calls = u.calls + excluded.calls),
    counts AS (DELETE FROM $.tally AS t USING gone WHERE t.writer IN (gone.id, gone.id || '/settled') RETURNING t.*),
    folded_counts AS (
      INSERT INTO $.tally AS t (source, destination, day, writer, pending, delivered, failed, expired)
      SELECT source, destination, day, '', sum(pending), sum(delivered), sum(failed), sum(expired) FROM counts
      GROUP BY source, destination, day
      ON CONFLICT (source, destination, day, writer) DO UPDATE SET pending = t.pending + excluded.pending,
        delivered = t.delivered + excluded.delivered, failed = t.failed + excluded.failed, expired = t.expired + excluded.expired),
    list AS (UPDATE $.meta AS m SET value = m.value + 1 FROM gone WHERE m.key = 'members')
    SELECT id FROM gone`,
  );
}
