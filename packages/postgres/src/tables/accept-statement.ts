import type { Acceptance, NewCall } from "@countersign/sender/store";
import { Columns } from "../database/columns.ts";
import type { ElementType } from "../database/binary-array.ts";
import { encodeOptional, encodeText } from "../database/text.ts";
import { dayOf, inSchema, type Names } from "../schema/names.ts";

/** An acceptance of one source, and what is to be claimed of it as it is stored. */
export interface AcceptEntry {
  readonly acceptance: Acceptance;
  /** Positions of calls that repeat an earlier call of the same acceptance. */
  readonly ownRepeats: ReadonlySet<number>;
  /** Ids of the deliveries that this process takes at once. */
  readonly claims: { has(id: string): boolean };
}

/** Who stores, and with which claim. */
export interface Claimant {
  readonly worker: string;
  readonly epoch: number;
  readonly claim: number;
}

/** What the statement answers: only what is out of the ordinary, since answers are read one character after another. */
export interface AcceptRow {
  /** Keys of calls that are repeats. */
  readonly repeats: readonly string[] | null;
  /** Ids of the deliveries that were left out. */
  readonly missing: readonly string[] | null;
  /** Whether those that were to be claimed, and were stored, are claimed: the worker's epoch is not over. */
  readonly alive: boolean;
}

const TYPES = {
  seen: ["text", "text", "bigint"],
  messages: ["text", "text", "integer", "bytea"],
  deliveries: ["text", "text", "text", "text", "text", "text", "text", "bigint", "bool"],
  skipped: ["text", "text", "text", "text", "text", "text", "bigint", "text"],
  counted: ["text", "text"],
} as const satisfies Record<string, readonly ElementType[]>;

const COLUMNS = [
  "id",
  "message",
  "destination",
  "message_id",
  "type",
  "identity",
  "event",
  "accepted_at",
  "claims",
] as const;

/**
 * Stores acceptances of one source, as one statement: all of them, or none. To run it twice stores them once: what has a
 * message, or a skipped call, of the same id is there already.
 */
export function acceptSql(names: Names): string {
  return inSchema(
    names,
    `WITH alive AS (SELECT id FROM $.worker WHERE id = $2 AND epoch = $3 FOR KEY SHARE),
    given AS (SELECT * FROM unnest($6::text[], $7::text[], $8::bigint[]) AS g (key, call, at)),
    fresh AS (
      INSERT INTO $.seen AS s (source, key, call, at) SELECT $1, key, call, at FROM given ORDER BY key
      ON CONFLICT (source, key) DO UPDATE SET call = excluded.call, at = excluded.at
        WHERE s.call = excluded.call OR s.at <= excluded.at - $5::bigint
      RETURNING key),
    new_message AS (
      INSERT INTO $.message (source, id, day, body)
      SELECT $1, m.id, m.day, m.body FROM unnest($9::text[], $10::text[], $11::int[], $12::bytea[]) AS m (id, key, day, body)
      WHERE m.key IS NULL OR m.key IN (SELECT key FROM fresh)
      ON CONFLICT DO NOTHING RETURNING id),
    new_delivery AS (
      INSERT INTO $.delivery (source, id, message, destination, message_id, type, identity, event, accepted_at, message_day, due_at, worker, claim)
      SELECT $1, d.id, d.message, d.destination, d.message_id, d.type, d.identity, d.event, d.accepted_at, d.accepted_at / 86400000,
        d.accepted_at, CASE WHEN d.claims THEN a.id END, CASE WHEN d.claims AND a.id IS NOT NULL THEN $4::bigint END
      FROM unnest($13::text[], $14::text[], $15::text[], $16::text[], $17::text[], $18::text[], $19::text[], $20::bigint[], $21::boolean[])
        AS d (${COLUMNS.join(", ")}) LEFT JOIN alive AS a ON true
      WHERE d.message IS NULL OR d.message IN (SELECT id FROM new_message)
      RETURNING id, destination),
    new_skipped AS (
      INSERT INTO $.skipped (source, id, message_id, type, identity, event, accepted_at, reason)
      SELECT $1, k.id, k.message_id, k.type, k.identity, k.event, k.accepted_at, k.reason
      FROM unnest($22::text[], $23::text[], $24::text[], $25::text[], $26::text[], $27::text[], $28::bigint[], $29::text[])
        AS k (id, key, message_id, type, identity, event, accepted_at, reason)
      WHERE k.key IS NULL OR k.key IN (SELECT key FROM fresh)
      ON CONFLICT DO NOTHING RETURNING id),
    counted AS (
      INSERT INTO $.usage AS u (source, writer, calls)
      SELECT $1, $2, count(*) FROM unnest($30::text[], $31::text[]) AS c (ref, key)
      WHERE (c.key IS NULL OR c.key IN (SELECT key FROM fresh))
        AND (c.ref IS NULL OR c.ref IN (SELECT id FROM new_message UNION ALL SELECT id FROM new_skipped))
      HAVING count(*) > 0
      ON CONFLICT (source, writer) DO UPDATE SET calls = u.calls + excluded.calls),
    tallied AS (
      INSERT INTO $.tally AS t (source, destination, day, writer, pending)
      SELECT $1, destination, -1, $2, count(*) FROM new_delivery GROUP BY destination ORDER BY destination
      ON CONFLICT (source, destination, day, writer) DO UPDATE SET pending = t.pending + excluded.pending)
    SELECT (SELECT array_agg(key) FROM given WHERE key IS NOT NULL AND key NOT IN (SELECT key FROM fresh)) AS repeats,
      (SELECT array_agg(id) FROM unnest($13::text[]) AS d (id) WHERE id NOT IN (SELECT id FROM new_delivery)) AS missing,
      EXISTS (SELECT FROM alive) AS alive`,
  );
}

/** The values of {@link acceptSql}. */
export function acceptValues(
  source: string,
  entries: readonly AcceptEntry[],
  claimant: Claimant,
  uniqueForMs: number | undefined,
): unknown[] {
  const columns = new AcceptColumns(uniqueForMs !== undefined, entries.length);
  for (const entry of entries) columns.add(entry);
  const { worker, epoch, claim } = claimant;
  return [encodeText(source), worker, epoch, claim, uniqueForMs ?? 0, ...columns.values()];
}

/** A call as the statement refers to it: the key that makes it a repeat, and the id that says whether it is stored. */
interface CallReference {
  readonly key: string | null;
  readonly ref: string | null;
}

/** Gathers the columns of several acceptances. */
class AcceptColumns {
  readonly #isUnique: boolean;
  readonly #keys: Columns;
  readonly #messages: Columns;
  readonly #deliveries: Columns;
  readonly #skipped: Columns;
  readonly #counted: Columns;

  /** @param acceptances How many will be added. */
  constructor(isUnique: boolean, acceptances: number) {
    this.#isUnique = isUnique;
    this.#keys = new Columns(TYPES.seen, acceptances);
    this.#messages = new Columns(TYPES.messages, acceptances);
    this.#deliveries = new Columns(TYPES.deliveries, acceptances);
    this.#skipped = new Columns(TYPES.skipped, acceptances);
    this.#counted = new Columns(TYPES.counted, acceptances);
  }

  add({ acceptance, ownRepeats, claims }: AcceptEntry): void {
    const { calls, messages, deliveries } = acceptance;
    const firstOf = idsOfMessages(acceptance);
    const byCall = firstByCall(acceptance, firstOf);
    const references = calls.map((call, position) =>
      this.#call(call, byCall[position], ownRepeats.has(position)),
    );
    messages.forEach((message, position) => {
      const id = firstOf[position];
      const key = references[message.call]?.key ?? null;
      if (id === undefined || ownRepeats.has(message.call)) return;
      this.#messages.add([id, key, dayOf(message.acceptedAt), message.body]);
    });
    for (const { id, destination, message: position } of deliveries) {
      const message = messages[position];
      if (message === undefined) throw new TypeError("A delivery names no message.");
      if (ownRepeats.has(message.call)) continue;
      this.#deliveries.add([
        encodeText(id),
        firstOf[position] ?? null,
        encodeText(destination),
        encodeText(message.messageId),
        message.type,
        encodeText(message.identity),
        encodeOptional(message.event),
        message.acceptedAt,
        claims.has(id),
      ]);
    }
  }

  values(): unknown[] {
    return [this.#keys, this.#messages, this.#deliveries, this.#skipped, this.#counted].flatMap((columns) =>
      columns.values(),
    );
  }

  #call(call: NewCall, message: string | undefined, isOwnRepeat: boolean): CallReference {
    const ref = message ?? encodeOptional(call.skipped?.id);
    const key = this.#isUnique ? encodeOptional(call.key) : null;
    if (isOwnRepeat) return { key, ref };
    if (key !== null) this.#keys.add([key, ref ?? `call ${call.messageId}`, call.acceptedAt]);
    if (call.skipped !== undefined) {
      const { messageId, type, identity, event, acceptedAt, skipped } = call;
      const about = [encodeText(messageId), type, encodeText(identity), encodeOptional(event), acceptedAt];
      this.#skipped.add([encodeText(skipped.id), key, ...about, skipped.reason]);
    }
    if (call.counted) this.#counted.add([ref, key]);
    return { key, ref };
  }
}

/** A message has the id of the first of its deliveries; undefined for one without. */
function idsOfMessages({ messages, deliveries }: Acceptance): readonly (string | undefined)[] {
  const ids: (string | undefined)[] = messages.map(() => undefined);
  for (const { id, message } of deliveries) ids[message] ??= encodeText(id);
  return ids;
}

function firstByCall(
  { calls, messages }: Acceptance,
  ids: readonly (string | undefined)[],
): readonly (string | undefined)[] {
  const first: (string | undefined)[] = calls.map(() => undefined);
  messages.forEach(({ call }, position) => {
    first[call] ??= ids[position];
  });
  return first;
}
