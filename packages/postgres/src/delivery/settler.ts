import { setTimeout as pause } from "node:timers/promises";
import type { Settlement } from "@countersign/sender/store";
import type { Connections, Statement } from "../database/connections.ts";
import { keptForMany } from "../database/kept-statement.ts";
import { isConflict, isOfContent } from "../database/postgres-error.ts";
import { failureOf } from "../database/store-errors.ts";
import { decodeText, encodeText } from "../database/text.ts";
import type { DayPartitions } from "../schema/day-partitions.ts";
import type { Names } from "../schema/names.ts";
import {
  carriesBody,
  daysOf,
  logLostSql,
  logLostValues,
  type SettleEntry,
  settledSql,
  settleSql,
  settleValues,
} from "../tables/settle-statement.ts";
import type { HandOver } from "./lane.ts";

/** The most settlements that one command stores. */
const AT_ONCE = 500;
/**
 * After a command, settlements gather for so long, in milliseconds, unless there are enough for the next one. A command for
 * two costs nearly as much as one for ten, here, in the database and on its disk, which calls wait for.
 */
const PAUSE_MS = 5;
const ENOUGH = 64;
/** The pause before a command is tried again: at first, and at most. */
const [SHORTEST_RETRY_MS, LONGEST_RETRY_MS] = [20, 500];

interface Waiting extends SettleEntry {
  readonly handOver: HandOver;
  readonly done: (isStored: boolean) => void;
}

/** The parts of the store that a settler uses. */
export interface SettlerOptions {
  readonly connections: Connections;
  readonly names: Names;
  readonly partitions: DayPartitions;
  /** The time, also after this machine's clock was set. */
  readonly now: () => number;
  readonly failed: (error: Error) => void;
}

/**
 * Stores settlements, many with one command, one command of a source at a time. A settlement that cannot be stored is
 * stored later: to deliver again instead would repeat the message for as long as the database is unreachable.
 */
export class Settler {
  readonly #options: SettlerOptions;
  readonly #plain: Statement;
  readonly #carrying: Statement;
  readonly #queues = new Map<string, Waiting[]>();
  readonly #running = new Map<string, Promise<void>>();
  #isClosing = false;

  constructor(options: SettlerOptions) {
    this.#options = options;
    this.#plain = keptForMany("settle", settleSql(options.names, false));
    this.#carrying = keptForMany("carry", settleSql(options.names, true));
  }

  /** @param done Called once: with true when the settlement was stored, with false when the claim was lost. */
  settle(handOver: HandOver, settlement: Settlement, done: (isStored: boolean) => void): void {
    const { id, source, acceptedAt } = handOver.due.delivery;
    const now = Math.floor(this.#options.now());
    this.#add(source, { id, claim: handOver.claim, settlement, acceptedAt, now, handOver, done });
  }

  #add(source: string, waiting: Waiting): void {
    const queue = this.#queues.get(source) ?? [];
    this.#queues.set(source, queue);
    queue.push(waiting);
    if (!this.#running.has(source)) this.#running.set(source, this.#run(source, queue));
  }

  /** Stores what is waiting; what cannot be stored by now is left to another worker. */
  async close(): Promise<void> {
    this.#isClosing = true;
    await Promise.all(this.#running.values());
  }

  async #run(source: string, queue: Waiting[]): Promise<void> {
    // Settlements of the same turn of the event loop go together.
    await new Promise((resolve) => setImmediate(resolve));
    while (queue.length > 0) {
      const group = queue.splice(0, AT_ONCE);
      await this.#storeUntilStored(source, group);
      if (queue.length < ENOUGH && !this.#isClosing) await pause(PAUSE_MS);
    }
    this.#running.delete(source);
    this.#queues.delete(source);
  }

  async #storeUntilStored(source: string, group: readonly Waiting[]): Promise<void> {
    const workers = new Set(group.map(({ handOver }) => handOver.worker));
    for (const worker of workers) {
      const entries = group.filter(({ handOver }) => handOver.worker === worker);
      for (let retryMs = SHORTEST_RETRY_MS; ; retryMs *= 2) {
        const error = await this.#tryToStore(source, worker, entries);
        if (error === undefined) break;
        if (this.#isClosing) {
          for (const { done } of entries) done(false);
          break;
        }
        if (isOfContent(error) && !this.#options.partitions.isMissing(error)) {
          await this.#storeApart(source, worker, entries);
          break;
        }
        await pause(Math.min(retryMs, LONGEST_RETRY_MS));
      }
    }
  }

  /** Stores each settlement alone: one that the database rejects must not hold up the others. It is tried again later. */
  async #storeApart(source: string, worker: string, entries: readonly Waiting[]): Promise<void> {
    for (const entry of entries) {
      if (entries.length > 1 && (await this.#tryToStore(source, worker, [entry])) === undefined) continue;
      if (this.#isClosing) entry.done(false);
      else setTimeout(() => this.#add(source, entry), LONGEST_RETRY_MS);
    }
  }

  /** Resolves to why it failed, if it did. */
  async #tryToStore(source: string, worker: string, entries: readonly Waiting[]): Promise<unknown> {
    const { connections, partitions, failed } = this.#options;
    let isStored: (entry: Waiting) => boolean;
    try {
      const days = daysOf(entries);
      if (!partitions.has(days)) await partitions.ensure(days);
      const statement = entries.some(carriesBody) ? this.#carrying : this.#plain;
      const values = settleValues(source, worker, entries);
      const rows = await connections.query<{ id: string }>("work", statement, values);
      const refused = new Set(rows.map(({ id }) => decodeText(id)));
      const others = entries.filter(({ id }) => refused.has(id));
      const before = others.length === 0 ? refused : await this.#storedBefore(source, worker, others);
      isStored = ({ id }) => !refused.has(id) || before.has(id);
    } catch (error) {
      if (!isConflict(error)) failed(failureOf(error));
      return error;
    }
    for (const entry of entries) entry.done(isStored(entry));
    return undefined;
  }

  /** The settlements that the database refused because an earlier command, whose answer was lost, had stored them. */
  async #storedBefore(
    source: string,
    worker: string,
    entries: readonly Waiting[],
  ): Promise<ReadonlySet<string>> {
    const { connections, names } = this.#options;
    const ids = entries.map(({ id }) => encodeText(id));
    const statement = { text: settledSql(names) };
    const rows = await connections.query<{ id: string; settled: string | null }>("work", statement, [
      encodeText(source),
      ids,
    ]);
    const tokens = new Map(rows.map(({ id, settled }) => [decodeText(id), settled]));
    const isStored = ({ id, claim }: Waiting): boolean => tokens.get(id) === `${worker}:${claim}`;
    const lost = entries.filter((entry) => !isStored(entry));
    if (lost.length > 0) {
      const log = { text: logLostSql(names) };
      await connections.query("work", log, logLostValues(source, worker, lost));
    }
    return new Set(entries.filter(isStored).map(({ id }) => id));
  }
}
