/** Each takes a file from the version of its position to the next. Released ones are never edited. */
export const MIGRATIONS: readonly string[] = [
  `
  CREATE TABLE meta (key TEXT PRIMARY KEY, value INTEGER NOT NULL) STRICT, WITHOUT ROWID;
  INSERT INTO meta VALUES ('opened', 0);

  CREATE TABLE message (
    seq INTEGER PRIMARY KEY,
    message_id TEXT NOT NULL,
    type TEXT NOT NULL,
    source TEXT NOT NULL,
    identity TEXT NOT NULL,
    event TEXT,
    body BLOB NOT NULL
  ) STRICT;
  CREATE INDEX message_by_message_id ON message (message_id);

  CREATE TABLE delivery (
    seq INTEGER PRIMARY KEY,
    id TEXT NOT NULL UNIQUE,
    message INTEGER NOT NULL REFERENCES message (seq),
    destination TEXT NOT NULL,
    state TEXT NOT NULL,
    accepted_at INTEGER NOT NULL,
    due_at INTEGER,
    ended_at INTEGER,
    rounds INTEGER NOT NULL DEFAULT 0,
    progress TEXT NOT NULL DEFAULT '{}'
  ) STRICT;
  CREATE INDEX delivery_by_message ON delivery (message);
  CREATE INDEX delivery_due ON delivery (destination, due_at) WHERE state = 'pending';
  CREATE INDEX delivery_ended ON delivery (ended_at) WHERE ended_at IS NOT NULL;
  CREATE INDEX delivery_lost ON delivery (state) WHERE state IN ('failed', 'expired');

  CREATE TABLE attempt (
    seq INTEGER PRIMARY KEY,
    delivery INTEGER NOT NULL REFERENCES delivery (seq),
    round INTEGER NOT NULL,
    endpoint TEXT NOT NULL,
    started_at INTEGER NOT NULL,
    duration_ms REAL NOT NULL,
    outcome TEXT NOT NULL,
    status INTEGER,
    code TEXT,
    message TEXT,
    response TEXT NOT NULL,
    fault TEXT
  ) STRICT;
  CREATE INDEX attempt_by_delivery ON attempt (delivery);

  CREATE TABLE trait (
    source TEXT NOT NULL,
    trait TEXT NOT NULL,
    user_id TEXT NOT NULL,
    value TEXT NOT NULL,
    PRIMARY KEY (source, trait, user_id)
  ) STRICT, WITHOUT ROWID;

  CREATE TABLE usage (source TEXT PRIMARY KEY, calls INTEGER NOT NULL) STRICT, WITHOUT ROWID;
  `,
  // What is known of a trait is known by destination. What older versions wrote is for the destinations of the next sync.
  `
  CREATE TABLE known_trait (
    source TEXT NOT NULL,
    trait TEXT NOT NULL,
    destination TEXT NOT NULL,
    user_id TEXT NOT NULL,
    value TEXT NOT NULL,
    PRIMARY KEY (source, trait, destination, user_id)
  ) STRICT, WITHOUT ROWID;
  INSERT INTO known_trait SELECT source, trait, '', user_id, value FROM trait;
  DROP TABLE trait;

  CREATE TABLE trait_owner (
    source TEXT NOT NULL,
    trait TEXT NOT NULL,
    kind TEXT NOT NULL,
    name TEXT NOT NULL,
    PRIMARY KEY (source, trait)
  ) STRICT, WITHOUT ROWID;
  `,
  // An endpoint rejects a message; what is refused are settings and options.
  `UPDATE delivery SET progress = replace(progress, '"refused":true', '"rejected":true') WHERE state = 'pending';`,
  // A delivery has in its row what it is about, for filters, and its last attempt, which most often is its only one.
  // Bodies, which are most of a file, stay where they are. The tables are written anew: for each column that is added to
  // one, SQLite reads all of it.
  `
  DROP INDEX message_by_message_id;

  CREATE TABLE delivery_now (
    seq INTEGER PRIMARY KEY,
    id TEXT NOT NULL,
    message INTEGER NOT NULL,
    destination TEXT NOT NULL,
    state TEXT NOT NULL,
    accepted_at INTEGER NOT NULL,
    due_at INTEGER,
    ended_at INTEGER,
    rounds INTEGER NOT NULL DEFAULT 0,
    progress TEXT NOT NULL DEFAULT '{}',
    message_id TEXT NOT NULL,
    type TEXT NOT NULL,
    source TEXT NOT NULL,
    identity TEXT NOT NULL,
    event TEXT,
    resend_of TEXT,
    is_shared INTEGER NOT NULL DEFAULT 0,
    attempts INTEGER NOT NULL DEFAULT 0,
    round INTEGER,
    endpoint TEXT,
    started_at INTEGER,
    duration_ms REAL,
    outcome TEXT,
    status INTEGER,
    code TEXT,
    problem TEXT,
    response TEXT,
    fault TEXT,
    is_cut INTEGER,
    request_headers TEXT,
    response_headers TEXT
  ) STRICT;
  INSERT INTO delivery_now
    SELECT d.seq, d.id, d.message, d.destination, d.state, d.accepted_at, d.due_at, d.ended_at, d.rounds, d.progress,
      m.message_id, m.type, m.source, m.identity, m.event, NULL, 1,
      (SELECT count(*) FROM attempt WHERE attempt.delivery = d.seq),
      a.round, a.endpoint, a.started_at, a.duration_ms, a.outcome, a.status, a.code, a.message, a.response, a.fault,
      NULL, NULL, NULL
    FROM delivery AS d JOIN message AS m ON m.seq = d.message
      LEFT JOIN attempt AS a ON a.seq = (SELECT max(seq) FROM attempt WHERE attempt.delivery = d.seq)
    ORDER BY d.seq;

  CREATE TABLE attempt_now (
    seq INTEGER PRIMARY KEY,
    delivery INTEGER NOT NULL,
    round INTEGER NOT NULL,
    endpoint TEXT NOT NULL,
    started_at INTEGER NOT NULL,
    duration_ms REAL NOT NULL,
    outcome TEXT NOT NULL,
    status INTEGER,
    code TEXT,
    problem TEXT,
    response TEXT NOT NULL,
    fault TEXT,
    is_cut INTEGER,
    request_headers TEXT,
    response_headers TEXT
  ) STRICT;
  INSERT INTO attempt_now
    SELECT seq, delivery, round, endpoint, started_at, duration_ms, outcome, status, code, message, response, fault,
      NULL, NULL, NULL
    FROM attempt
    WHERE seq < (SELECT max(later.seq) FROM attempt AS later WHERE later.delivery = attempt.delivery)
    ORDER BY seq;

  DROP TABLE attempt;
  DROP TABLE delivery;
  ALTER TABLE delivery_now RENAME TO delivery;
  ALTER TABLE attempt_now RENAME TO attempt;

  CREATE INDEX attempt_by_delivery ON attempt (delivery);
  CREATE UNIQUE INDEX delivery_by_id ON delivery (id);
  CREATE INDEX delivery_due ON delivery (destination, due_at) WHERE state = 'pending';
  CREATE INDEX delivery_ended ON delivery (ended_at) WHERE ended_at IS NOT NULL;
  CREATE INDEX delivery_by_message ON delivery (message) WHERE is_shared = 1;
  CREATE INDEX delivery_by_kind ON delivery (destination, type, state, accepted_at);
  CREATE INDEX delivery_by_message_id ON delivery (message_id);
  CREATE INDEX delivery_by_identity ON delivery (identity, accepted_at);
  CREATE INDEX delivery_by_event ON delivery (event, accepted_at) WHERE event IS NOT NULL;
  CREATE INDEX delivery_by_outcome ON delivery (outcome, accepted_at) WHERE outcome <> 'success';
  CREATE INDEX delivery_by_status ON delivery (status, accepted_at) WHERE status >= 300;

  CREATE TABLE call_key (
    seq INTEGER PRIMARY KEY,
    source TEXT NOT NULL,
    key TEXT NOT NULL,
    at INTEGER NOT NULL,
    UNIQUE (source, key)
  ) STRICT;

  CREATE TABLE skipped_call (
    accepted_at INTEGER NOT NULL,
    id TEXT NOT NULL,
    message_id TEXT NOT NULL,
    type TEXT NOT NULL,
    source TEXT NOT NULL,
    identity TEXT NOT NULL,
    event TEXT,
    reason TEXT NOT NULL,
    PRIMARY KEY (accepted_at, id)
  ) STRICT, WITHOUT ROWID;

  ALTER TABLE trait_owner ADD COLUMN version INTEGER NOT NULL DEFAULT 0;
  `,
  // By an endpoint, and by a status that is no failure, a list would read each delivery.
  "CREATE INDEX delivery_by_endpoint ON delivery (endpoint, status, accepted_at) WHERE endpoint IS NOT NULL;",
];
