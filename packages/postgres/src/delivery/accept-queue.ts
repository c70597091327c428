import {
  type Acceptance,
  type Accepted,
  type DueDelivery,
  firstRoundOf,
  StoreError,
} from "@countersign/sender/store";
import type { Connections, Run, Statement } from "../database/connections.ts";
import { keptForMany } from "../database/kept-statement.ts";
import { isConflict, mayBeOfOne, NotInTimeError } from "../database/postgres-error.ts";
import { storeErrorOf } from "../database/store-errors.ts";
import { decodeText } from "../database/text.ts";
import { ANSWER_MS } from "../database/within.ts";
import type { DayPartitions } from "../schema/day-partitions.ts";
import { dayOf, type Names } from "../schema/names.ts";
import { acceptNewSql, type AcceptRow, acceptSql } from "../tables/accept-statement.ts";
import { type AcceptEntry, acceptNewValues, acceptValues } from "../tables/accept-values.ts";
import type { Bulletin } from "../workers/bulletin.ts";
import type { Claims } from "../workers/claims.ts";
import type { Membership } from "../workers/membership.ts";
import type { Remarks } from "../workers/remarks.ts";
import type { Dispatcher } from "./dispatcher.ts";
import type { Lane } from "./lane.ts";
import type { Lanes } from "./lanes.ts";
import { isRepeat, keysOf, ownRepeatsOf, repeatsOf } from "./repeats.ts";
import { splitBySize } from "./split-by-size.ts";

/** The most calls, and bytes of bodies, that one command stores. */
const CALLS_AT_ONCE = 500;
const BYTES_AT_ONCE = 4_000_000;

/** How often a command is tried that conflicts with another one. */
const TRIES = 5;

interface Waiting {
  readonly since: number;
  readonly acceptance: Acceptance;
  readonly ownRepeats: ReadonlySet<number>;
  readonly resolve: (accepted: Accepted) => void;
  readonly reject: (error: Error) => void;
}

/** The parts of the store that an accept queue uses. */
export interface AcceptQueueOptions {
  readonly connections: Connections;
  readonly names: Names;
  readonly partitions: DayPartitions;
  readonly lanes: Lanes;
  readonly dispatcher: Dispatcher;
  readonly claims: Claims;
  readonly membership: Membership;
  readonly bulletin: Bulletin;
  readonly remarks: Remarks;
}

/** A delivery that is claimed with the command that stores it, and its lane. */
interface Offer {
  readonly lane: Lane;
  readonly due: DueDelivery;
}

/** Group commit: the calls that a source accepts while a command of it runs are stored together, with the next command. */
export class AcceptQueue {
  readonly #options: AcceptQueueOptions;
  readonly #statement: Statement;
  /** Does not look for deliveries that are stored already. Nearly all commands are of this kind. */
  readonly #statementForNew: Statement;
  readonly #queues = new Map<string, Waiting[]>();

  constructor(options: AcceptQueueOptions) {
    this.#options = options;
    this.#statement = keptForMany("accept", acceptSql(options.names));
    this.#statementForNew = keptForMany("accept_new", acceptNewSql(options.names));
  }

  /** Stores what one source accepts. */
  add(source: string, acceptance: Acceptance): Promise<Accepted> {
    const key = `${acceptance.uniqueForMs ?? ""} ${source}`;
    return new Promise((resolve, reject) => {
      const since = performance.now();
      const waiting = { since, acceptance, ownRepeats: ownRepeatsOf(acceptance), resolve, reject };
      const queue = this.#queues.get(key);
      if (queue !== undefined) {
        queue.push(waiting);
        return;
      }
      const made = [waiting];
      this.#queues.set(key, made);
      setImmediate(() => void this.#run(key, source, made));
    });
  }

  async #run(key: string, source: string, queue: Waiting[]): Promise<void> {
    while (queue.length > 0) {
      const startedAt = performance.now();
      const error = await this.#store(source, nextGroup(queue), queue);
      const now = performance.now();
      if (error === undefined || now - startedAt < ANSWER_MS) continue;
      // The database hangs. Reject what has waited as long, since each further group would wait that long again.
      const fresh = queue.findIndex(({ since }) => now - since < ANSWER_MS);
      for (const { reject } of queue.splice(0, fresh === -1 ? queue.length : fresh)) reject(notTried(error));
    }
    this.#queues.delete(key);
  }

  /**
   * Resolves to why the database stored nothing of a group, if that is not for one of its calls.
   *
   * @param queue Gets back those of a group whose own time is not over.
   */
  async #store(source: string, group: readonly Waiting[], queue: Waiting[]): Promise<StoreError | undefined> {
    for (let attempt = 1; ; attempt += 1) {
      try {
        // A later try looks for what is stored already: the answer of the one before may have been lost.
        await this.#tryToStore(source, group, attempt === 1);
        return undefined;
      } catch (error) {
        const isInTheWay = isConflict(error) || this.#options.partitions.isMissing(error);
        if (isInTheWay && attempt < TRIES) continue;
        // One that cannot be stored must not fail the rest.
        if (group.length > 1 && mayBeOfOne(error)) {
          for (const one of group) await this.#store(source, [one], queue);
          return undefined;
        }
        // The time limit was that of the call that has waited for longest. Others have time left.
        const now = performance.now();
        const waitsOn = ({ since }: Waiting): boolean =>
          error instanceof NotInTimeError && now - since < ANSWER_MS;
        queue.unshift(...group.filter(waitsOn));
        for (const one of group) if (!waitsOn(one)) one.reject(storeErrorOf(error));
        return storeErrorOf(error);
      }
    }
  }

  async #tryToStore(source: string, group: readonly Waiting[], isFirst: boolean): Promise<void> {
    const { connections, partitions, claims, dispatcher, membership } = this.#options;
    const days = new Set<number>();
    for (const { acceptance } of group)
      for (const { acceptedAt } of acceptance.messages) days.add(dayOf(acceptedAt));
    if (!partitions.has(days)) await partitions.ensure(days);
    const offers = this.#offersOf(group);
    const parts = partsOf(group, offers);
    const [worker, epoch, claim, signal] = [membership.id, membership.epoch, claims.next(), claims.signal];
    const claimant = { worker, epoch, claim };
    // The first call has waited for longest: its time limit counts.
    const { acceptance: { uniqueForMs } = {}, since } = group[0] ?? {};
    const isNew = isFirst && uniqueForMs === undefined;
    const statement = isNew ? this.#statementForNew : this.#statement;
    const valuesOf = (entries: readonly AcceptEntry[]): unknown[] =>
      isNew
        ? acceptNewValues(source, entries, claimant)
        : acceptValues(source, entries, claimant, uniqueForMs);
    const query = async (): Promise<readonly AcceptRow[]> => {
      const [only, ...others] = parts;
      if (only === undefined) return [];
      if (others.length === 0) return connections.query<AcceptRow>("work", statement, valuesOf(only), since);
      const runAll = async (run: Run): Promise<readonly AcceptRow[]> => {
        const rows: AcceptRow[] = [];
        for (const part of parts) rows.push(...(await run<AcceptRow>(statement.text, valuesOf(part))));
        return rows;
      };
      return connections.transaction("work", runAll, since);
    };
    try {
      const rows = await (offers.size > 0 ? membership.whileClaiming(query) : query());
      const missing = new Set(rows.flatMap((row) => textsOf(row.missing)));
      const repeated = new Set(rows.flatMap((row) => textsOf(row.repeats)));
      const isClaimed = rows.length === parts.length && rows.every(({ alive }) => alive) && !signal.aborted;
      const taken = isClaimed ? without(offers, missing) : new Map<string, Offer>();
      for (const { lane, due } of taken.values()) dispatcher.run(lane, due, worker, claim);
      this.#answer(group, repeated, missing, taken);
    } finally {
      for (const { lane } of offers.values()) lane.reserved -= 1;
      for (const { lane } of offers.values()) lane.checkEmpty();
    }
  }

  /** The deliveries to claim with the command that stores them: those that are next in their lane, if it has room. */
  #offersOf(group: readonly Waiting[]): ReadonlyMap<string, Offer> {
    const offers = new Map<string, Offer>();
    const { lanes, membership } = this.#options;
    if (!membership.mayClaim) return offers;
    for (const { acceptance, ownRepeats } of group) {
      for (const delivery of acceptance.deliveries) {
        const lane = lanes.of(delivery.destination);
        const message = acceptance.messages[delivery.message];
        if (lane === undefined || message === undefined || ownRepeats.has(message.call)) continue;
        if (!lane.isNext(message.acceptedAt) || lane.roomForNew(lanes.shareOf(lane)) === 0) continue;
        lane.reserved += 1;
        offers.set(delivery.id, { lane, due: firstRoundOf(delivery, message) });
      }
    }
    return offers;
  }

  #answer(
    group: readonly Waiting[],
    repeated: ReadonlySet<string>,
    missing: ReadonlySet<string>,
    taken: ReadonlyMap<string, Offer>,
  ): void {
    const { dispatcher, bulletin, remarks } = this.#options;
    const left = new Set<string>();
    const newDeliveries: DueDelivery[] = [];
    for (const { acceptance, ownRepeats, resolve } of group) {
      for (const delivery of acceptance.deliveries) {
        const message = acceptance.messages[delivery.message];
        if (message === undefined || isRepeat(acceptance, ownRepeats, repeated, message.call)) continue;
        const offer = taken.get(delivery.id);
        // One that was there already was stored by a command whose answer was lost, so that nobody has heard of it.
        if (!missing.has(delivery.id)) newDeliveries.push(offer?.due ?? firstRoundOf(delivery, message));
        if (offer === undefined) left.add(delivery.destination);
      }
      resolve({ repeats: repeatsOf(acceptance, ownRepeats, repeated) });
    }
    bulletin.tellStored(newDeliveries);
    if (left.size === 0) return;
    remarks.somethingWaits();
    dispatcher.stirEverywhere([...left]);
  }
}

function textsOf(json: string | null | undefined): readonly string[] {
  return json == null ? [] : (JSON.parse(json) as string[]).map(decodeText);
}

/** Why a call was rejected that was never sent to the database: it is known not to be stored. */
function notTried(cause: StoreError): StoreError {
  const text = `The database did not answer for ${ANSWER_MS / 1_000} s, so this was not stored. Repeat it.`;
  return new StoreError("ERR_STORE_FAILED", text, cause);
}

/** What each command stores: all of a group, or a part of an acceptance that is too large for one. */
function partsOf(
  group: readonly Waiting[],
  claims: AcceptEntry["claims"],
): readonly (readonly AcceptEntry[])[] {
  const [first, ...others] = group;
  if (first === undefined || others.length > 0)
    return [group.map(({ acceptance, ownRepeats }) => ({ acceptance, ownRepeats, claims }))];
  return splitBySize(first.acceptance).map(({ acceptance, positions }) => {
    const own = positions.flatMap((call, position) => (first.ownRepeats.has(call) ? position : []));
    return [{ acceptance, ownRepeats: new Set(own), claims }];
  });
}

/** The offers without those of deliveries that were not stored. */
function without(
  offers: ReadonlyMap<string, Offer>,
  missing: ReadonlySet<string>,
): ReadonlyMap<string, Offer> {
  return missing.size === 0 ? offers : new Map([...offers].filter(([id]) => !missing.has(id)));
}

/** Takes the calls of the next command from the queue. No two of them have the same key, or the same delivery. */
function nextGroup(queue: Waiting[]): readonly Waiting[] {
  const [ids, keys] = [new Set<string>(), new Set<string>()];
  let [count, calls, bytes] = [0, 0, 0];
  for (const next of queue) {
    const { deliveries } = next.acceptance;
    const unique = keysOf(next.acceptance, next.ownRepeats);
    calls += next.acceptance.calls.length + next.acceptance.deliveries.length;
    for (const { body } of next.acceptance.messages) bytes += body.length;
    const isFull = calls > CALLS_AT_ONCE * 2 || bytes > BYTES_AT_ONCE;
    const isTaken = deliveries.some(({ id }) => ids.has(id)) || unique.some((key) => keys.has(key));
    if (count > 0 && (isFull || isTaken)) break;
    for (const { id } of deliveries) ids.add(id);
    for (const key of unique) keys.add(key);
    count += 1;
  }
  return queue.splice(0, count);
}
