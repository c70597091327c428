import { beginningOf, KNOWN_TRAIT_KEY } from "./names.ts";

/** One step from a version of the schema to the next: a transaction of its own. Released ones are never edited. */
export interface Migration {
  readonly sql: string;
  /**
   * The oldest version of the code's schema that still works on the result: processes of that version continue beside newer
   * ones during a rolling upgrade.
   */
  readonly worksWith: number;
}

const TEXT = `text COLLATE "C"`;

/** The identity of a delivery, in the tables of pending and of ended ones. */
const INFO = `
  source ${TEXT} NOT NULL,
  id ${TEXT} NOT NULL,
  destination ${TEXT} NOT NULL,
  message ${TEXT} NOT NULL,
  message_day integer NOT NULL,
  message_id ${TEXT} NOT NULL,
  type ${TEXT} NOT NULL,
  identity ${TEXT} NOT NULL,
  event ${TEXT},
  accepted_at bigint NOT NULL,
  rounds integer NOT NULL DEFAULT 0,
  attempts integer NOT NULL DEFAULT 0,
  last text,
  last_outcome ${TEXT},
  last_status integer,
  last_endpoint ${TEXT},
  resend_of ${TEXT},
  settled ${TEXT}`;

/**
 * Every key leads with the source, ids are the sender's, and no statement needs a sequence: so that a database can divide
 * the tables by source. A destination begins with its source. The other indexes lead with something else, so that only the
 * key can be taken for finding one row, whatever the statistics say of a table that is empty one minute and full the next.
 *
 * A delivery that is claimed is in few indexes, since it leaves the table in a moment: the others are for those that wait. Of
 * those that are claimed, which are few, a reader looks at each.
 */
const FIRST = `
CREATE TABLE $.message (
  source ${TEXT} NOT NULL,
  id ${TEXT} NOT NULL,
  day integer NOT NULL,
  body bytea NOT NULL,
  PRIMARY KEY (source, id, day)
) PARTITION BY LIST (day);

CREATE TABLE $.delivery (${INFO},
  due_at bigint NOT NULL,
  progress text NOT NULL DEFAULT '{}',
  worker ${TEXT},
  claim bigint,
  PRIMARY KEY (source, id)
) WITH (fillfactor = 85, autovacuum_vacuum_scale_factor = 0.02, autovacuum_vacuum_threshold = 1000, autovacuum_vacuum_cost_delay = 0);
CREATE INDEX delivery_due ON $.delivery (destination, due_at, id) WHERE worker IS NULL;
CREATE INDEX delivery_claimed ON $.delivery (worker) WHERE worker IS NOT NULL;
CREATE INDEX delivery_accepted ON $.delivery (accepted_at, id) WHERE worker IS NULL;
CREATE INDEX delivery_destination ON $.delivery (destination, accepted_at, id) WHERE worker IS NULL;
CREATE INDEX delivery_message ON $.delivery (message_id) WHERE worker IS NULL;
CREATE INDEX delivery_identity ON $.delivery (${beginningOf("identity")}, accepted_at, id) WHERE worker IS NULL;

CREATE TABLE $.ended (${INFO},
  day integer NOT NULL,
  state ${TEXT} NOT NULL,
  ended_at bigint NOT NULL,
  log text NOT NULL,
  PRIMARY KEY (source, id, day)
) PARTITION BY LIST (day);
CREATE INDEX ended_accepted ON $.ended (accepted_at, id);
CREATE INDEX ended_destination ON $.ended (destination, accepted_at, id);
CREATE INDEX ended_message ON $.ended (message_id);
CREATE INDEX ended_identity ON $.ended (${beginningOf("identity")}, accepted_at, id);
CREATE INDEX ended_event ON $.ended (${beginningOf("event")}, accepted_at, id) WHERE event IS NOT NULL;
CREATE INDEX ended_type ON $.ended (type, accepted_at, id);
CREATE INDEX ended_status ON $.ended (last_status, accepted_at, id);
CREATE INDEX ended_endpoint ON $.ended (${beginningOf("last_endpoint")}, accepted_at, id);
CREATE INDEX ended_lost ON $.ended (state, accepted_at, id) WHERE state <> 'delivered';
CREATE INDEX ended_outcome ON $.ended (last_outcome, accepted_at, id) WHERE last_outcome <> 'success';

CREATE TABLE $.attempt (
  source ${TEXT} NOT NULL,
  delivery ${TEXT} NOT NULL,
  token ${TEXT} NOT NULL,
  day integer NOT NULL,
  logged_at bigint NOT NULL,
  log text NOT NULL,
  PRIMARY KEY (source, delivery, token, day)
) PARTITION BY LIST (day);

CREATE TABLE $.seen (
  source ${TEXT} NOT NULL,
  key ${TEXT} NOT NULL,
  call ${TEXT} NOT NULL,
  at bigint NOT NULL,
  PRIMARY KEY (source, key)
);
CREATE INDEX seen_at ON $.seen (at);

CREATE TABLE $.skipped (
  source ${TEXT} NOT NULL,
  id ${TEXT} NOT NULL,
  message_id ${TEXT} NOT NULL,
  type ${TEXT} NOT NULL,
  identity ${TEXT} NOT NULL,
  event ${TEXT},
  accepted_at bigint NOT NULL,
  reason ${TEXT} NOT NULL,
  PRIMARY KEY (source, id)
);
CREATE INDEX skipped_accepted ON $.skipped (accepted_at, id);

CREATE TABLE $.usage (
  source ${TEXT} NOT NULL,
  writer ${TEXT} NOT NULL,
  calls bigint NOT NULL,
  PRIMARY KEY (source, writer)
) WITH (fillfactor = 50);

CREATE TABLE $.tally (
  source ${TEXT} NOT NULL,
  destination ${TEXT} NOT NULL,
  day integer NOT NULL,
  writer ${TEXT} NOT NULL,
  pending bigint NOT NULL DEFAULT 0,
  delivered bigint NOT NULL DEFAULT 0,
  failed bigint NOT NULL DEFAULT 0,
  expired bigint NOT NULL DEFAULT 0,
  PRIMARY KEY (source, destination, day, writer)
) WITH (fillfactor = 50);

CREATE TABLE $.trait_owner (
  source ${TEXT} NOT NULL,
  trait ${TEXT} NOT NULL,
  kind ${TEXT} NOT NULL,
  name ${TEXT} NOT NULL,
  version bigint NOT NULL,
  PRIMARY KEY (source, trait)
);
CREATE TABLE $.known_trait (
  source ${TEXT} NOT NULL,
  trait ${TEXT} NOT NULL,
  destination ${TEXT} NOT NULL,
  user_id ${TEXT} NOT NULL,
  value text NOT NULL
);
CREATE UNIQUE INDEX known_trait_key ON $.known_trait (${KNOWN_TRAIT_KEY});

CREATE TABLE $.settings (id integer PRIMARY KEY, version bigint NOT NULL, text text NOT NULL);

CREATE TABLE $.worker (
  id ${TEXT} PRIMARY KEY,
  epoch bigint NOT NULL,
  lease_until timestamptz NOT NULL,
  beat_at timestamptz NOT NULL,
  delivers boolean NOT NULL,
  virtual boolean NOT NULL,
  joined bigint NOT NULL,
  seen bigint NOT NULL
) WITH (fillfactor = 50);
`;

/**
 * The only table without a primary key, since users' ids have any length: a database that publishes all its tables, for logical
 * replication, would refuse to change its rows.
 */
const SECOND = `ALTER TABLE $.known_trait REPLICA IDENTITY FULL`;

/**
 * Indexes of ended deliveries end with the time, and not with the id: few were accepted in the same millisecond, and sorting those
 * costs a reader less than the ids cost each delivery.
 */
const THIRD = `
DROP INDEX $.ended_accepted, $.ended_destination, $.ended_identity, $.ended_event, $.ended_type, $.ended_status, $.ended_endpoint,
  $.ended_lost, $.ended_outcome;
CREATE INDEX ended_accepted ON $.ended (accepted_at);
CREATE INDEX ended_destination ON $.ended (destination, accepted_at);
CREATE INDEX ended_identity ON $.ended (${beginningOf("identity")}, accepted_at);
CREATE INDEX ended_event ON $.ended (${beginningOf("event")}, accepted_at) WHERE event IS NOT NULL;
CREATE INDEX ended_type ON $.ended (type, accepted_at);
CREATE INDEX ended_status ON $.ended (last_status, accepted_at);
CREATE INDEX ended_endpoint ON $.ended (${beginningOf("last_endpoint")}, accepted_at);
CREATE INDEX ended_lost ON $.ended (state, accepted_at) WHERE state <> 'delivered';
CREATE INDEX ended_outcome ON $.ended (last_outcome, accepted_at) WHERE last_outcome <> 'success'`;

/**
 * Of the beginning of an event's name the server knows how frequent it is only by statistics of their own, since the index is of a
 * part of the rows: a search that found few or none was taken for a frequent one, and read all deliveries from the newest on. Days
 * to come get the statistics of the table, and those that are there get them here: of days gone by the server learns nothing by
 * itself. They belong to the schema, since a day that an administrator has moved may be in one where this user may make nothing.
 */
const FOURTH = `
CREATE STATISTICS $.ended_event_beginning ON (${beginningOf("event")}) FROM $.ended;
DO $do$
DECLARE
  own regnamespace := (SELECT relnamespace FROM pg_class WHERE oid = '$.ended'::regclass);
  part regclass;
BEGIN
  FOR part IN SELECT relid FROM pg_partition_tree('$.ended') JOIN pg_class ON oid = relid WHERE isleaf AND relkind = 'r' LOOP
    EXECUTE format('CREATE STATISTICS %s.%I ON (${beginningOf("event")}) FROM %s', own, 'ended_event_beginning_' || part::oid, part);
    EXECUTE format('ANALYZE %s (event)', part);
  END LOOP;
END $do$`;

/** Of what waits, the same. */
const FIFTH = `
CREATE STATISTICS $.delivery_event_beginning ON (${beginningOf("event")}) FROM $.delivery;
ANALYZE $.delivery (event)`;

/**
 * A list finds what waits by each of its fields, as it finds what has ended: without an index, one that matches little reads all
 * that waits. An attempt is what the last three are about, so what has had none is not in them.
 *
 * While an index is made, calls and settlements wait: those of a million pending deliveries take longer together than a caller
 * waits, so each is a step. A vacuum, which is in the way of the index, is waited for before that.
 */
const OF_PENDING = [
  `CREATE INDEX delivery_event ON $.delivery (${beginningOf("event")}, accepted_at) WHERE worker IS NULL AND event IS NOT NULL`,
  `CREATE INDEX delivery_type ON $.delivery (type, accepted_at) WHERE worker IS NULL`,
  `CREATE INDEX delivery_outcome ON $.delivery (last_outcome, accepted_at) WHERE worker IS NULL AND last_outcome IS NOT NULL`,
  `CREATE INDEX delivery_status ON $.delivery (last_status, accepted_at) WHERE worker IS NULL AND last_status IS NOT NULL`,
  `CREATE INDEX delivery_endpoint ON $.delivery (${beginningOf("last_endpoint")}, accepted_at)
     WHERE worker IS NULL AND last_endpoint IS NOT NULL`,
].map((index) => `LOCK TABLE $.delivery IN SHARE UPDATE EXCLUSIVE MODE; ${index}`);

/** Each takes the schema from the version of its position to the next. */
export const MIGRATIONS: readonly Migration[] = [
  { sql: FIRST, worksWith: 1 },
  { sql: SECOND, worksWith: 1 },
  { sql: THIRD, worksWith: 1 },
  { sql: FOURTH, worksWith: 1 },
  { sql: FIFTH, worksWith: 1 },
  ...OF_PENDING.map((sql) => ({ sql, worksWith: 1 })),
];
