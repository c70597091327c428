import type { Acceptance } from "@countersign/sender/store";
import { Columns } from "../database/columns.ts";
import { encodeOptional, encodeText } from "../database/text.ts";
import { dayOf } from "../schema/names.ts";
import { GIVEN, REPEATS } from "./accept-statement.ts";

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

/** The values of `acceptNewSql`. */
export function acceptNewValues(
  source: string,
  entries: readonly AcceptEntry[],
  { worker, epoch, claim }: Claimant,
): unknown[] {
  const given = new GivenColumns(entries.length);
  for (const entry of entries) given.add(entry);
  return [encodeText(source), worker, epoch, claim, ...given.values(), given.counted];
}

/** The values of `acceptSql`. */
export function acceptValues(
  source: string,
  entries: readonly AcceptEntry[],
  { worker, epoch, claim }: Claimant,
  uniqueForMs: number | undefined,
): unknown[] {
  const given = new GivenColumns(entries.length);
  const repeats = new RepeatColumns(uniqueForMs !== undefined, entries.length);
  for (const entry of entries) {
    given.add(entry);
    repeats.add(entry);
  }
  const who = [encodeText(source), worker, epoch, claim];
  return [...who, ...given.values(), uniqueForMs ?? 0, ...repeats.values()];
}

/** What several acceptances store. */
class GivenColumns {
  readonly #messages: Columns;
  readonly #deliveries: Columns;
  readonly #skipped: Columns;
  /** How many of the calls count. */
  counted = 0;

  /** @param acceptances How many will be added. */
  constructor(acceptances: number) {
    this.#messages = new Columns(Object.values(GIVEN.messages), acceptances);
    this.#deliveries = new Columns(Object.values(GIVEN.deliveries), acceptances);
    this.#skipped = new Columns(Object.values(GIVEN.skipped), acceptances);
  }

  add({ acceptance, ownRepeats, claims }: AcceptEntry): void {
    const { calls, messages, deliveries } = acceptance;
    const ids = idsOfMessages(acceptance);
    for (const [position, { call, acceptedAt, body }] of messages.entries()) {
      const id = ids[position];
      if (id !== undefined && !ownRepeats.has(call)) this.#messages.add([id, dayOf(acceptedAt), body]);
    }
    for (const { id, destination, message: position } of deliveries) {
      const message = messages[position];
      if (message === undefined) throw new TypeError("A delivery names no message.");
      if (ownRepeats.has(message.call)) continue;
      this.#deliveries.add([
        encodeText(id),
        ids[position] ?? null,
        encodeText(destination),
        encodeText(message.messageId),
        message.type,
        encodeText(message.identity),
        encodeOptional(message.event),
        message.acceptedAt,
        claims.has(id),
      ]);
    }
    for (const [position, call] of calls.entries()) {
      if (ownRepeats.has(position)) continue;
      if (call.counted) this.counted += 1;
      if (call.skipped === undefined) continue;
      const { messageId, type, identity, event, acceptedAt, skipped } = call;
      const about = [encodeText(messageId), type, encodeText(identity), encodeOptional(event), acceptedAt];
      this.#skipped.add([encodeText(skipped.id), ...about, skipped.reason]);
    }
  }

  values(): unknown[] {
    return [this.#messages, this.#deliveries, this.#skipped].flatMap((columns) => columns.values());
  }
}

/** The keys that make calls repeats, and the ids that say whether they are stored. */
class RepeatColumns {
  readonly #isUnique: boolean;
  readonly #keys: Columns;
  readonly #messages: Columns;
  readonly #skipped: Columns;
  readonly #counted: Columns;

  constructor(isUnique: boolean, acceptances: number) {
    this.#isUnique = isUnique;
    this.#keys = new Columns(REPEATS.keys, acceptances);
    this.#messages = new Columns(REPEATS.messages, acceptances);
    this.#skipped = new Columns(REPEATS.skipped, acceptances);
    this.#counted = new Columns(REPEATS.counted, acceptances);
  }

  add({ acceptance, ownRepeats }: AcceptEntry): void {
    const { calls, messages } = acceptance;
    const ids = idsOfMessages(acceptance);
    const keys = calls.map(({ key }) => (this.#isUnique ? encodeOptional(key) : null));
    for (const [position, { call }] of messages.entries())
      if (ids[position] !== undefined && !ownRepeats.has(call)) this.#messages.add([keys[call] ?? null]);
    const firstOf = firstByCall(acceptance, ids);
    for (const [position, { messageId, acceptedAt, skipped, counted }] of calls.entries()) {
      if (ownRepeats.has(position)) continue;
      const key = keys[position] ?? null;
      const ref = firstOf[position] ?? encodeOptional(skipped?.id);
      if (key !== null) this.#keys.add([key, ref ?? `call ${messageId}`, acceptedAt]);
      if (skipped !== undefined) this.#skipped.add([key]);
      if (counted) this.#counted.add([ref, key]);
    }
  }

  values(): unknown[] {
    return [this.#keys, this.#messages, this.#skipped, this.#counted].flatMap((columns) => columns.values());
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
