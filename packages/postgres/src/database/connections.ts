import { setImmediate as nextTurn } from "node:timers/promises";
import { StoreError } from "@countersign/sender/store";
import type pg from "pg";
import { connectionMessageOf } from "@countersign/protocol";
import { CurrentServer } from "./current-server.ts";
import { Gate } from "./gate.ts";
import {
  breaksConnection,
  isUnknown,
  NoAnswerError,
  NotInTimeError,
  NotReachedError,
  sqlStateOf,
} from "./postgres-error.ts";
import { throwOfRead } from "./store-errors.ts";
import { endingOf, giveBack, type PostgresClient, type PostgresPool, takeFrom } from "./postgres-pool.ts";
import { LISTEN_SETTINGS, ownPool, READ_SETTINGS, SETTINGS } from "./own-pool.ts";
import { RESULT_TYPES } from "./result-types.ts";
import { Turns } from "./turns.ts";
import { ANSWER_MS, answered, ENDS_WITHIN_MS, within } from "./within.ts";

/** What a command is for: reads, which may be slow, leave connections to the others. */
export type Purpose = "work" | "read" | "control";

/** Connections of one process at most, besides the one that listens. */
const AT_ONCE: Readonly<Record<Purpose, number>> = { work: 3, read: 2, control: 1 };

/** A command whose text is the same every time. */
export interface Statement {
  /** Under this name the server keeps it prepared. */
  readonly name?: string;
  readonly text: string;
  /** It is for each of many deliveries, so that a plan of it is kept only on connections with the settings for that. */
  readonly isForMany?: boolean;
  /** It reads what a filter means, so that who asks can ask for less. */
  readonly isFiltered?: boolean;
}

/** Runs commands of one transaction, each of which may take so many milliseconds: {@link ANSWER_MS} unless it says otherwise. */
export type Run = <Row>(
  text: string,
  values?: readonly unknown[],
  answerMs?: number,
) => Promise<readonly Row[]>;

/**
 * Two commands were in each other's way: each waited for a row that the other had changed, or a pool or a role isolates transactions more
 * strictly than commands are written for.
 */
const IN_THE_WAY: ReadonlySet<string> = new Set(["40P01", "40001"]);

/** A pool, and who uses it. */
interface SharedPool {
  readonly pool: PostgresPool;
  readonly turns: Turns;
}

/** The connections of one process: six at most, and one that listens. */
export class Connections {
  readonly #pools: { readonly [P in Purpose]: SharedPool };
  readonly #own: readonly pg.Pool[];
  readonly #gates: { readonly [P in Purpose]: Gate };
  readonly #url: string | undefined;
  /** Whether connections have our settings: those of others' pools and poolers have their own. */
  #isSet: boolean;
  /** Behind a pooler that gives each transaction another connection, nothing stays prepared. */
  #keepsPrepared = true;
  #lostUntil = Number.NEGATIVE_INFINITY;
  /** Connections whose transaction could not be ended: the next command on one would be part of it. */
  readonly #inTransaction = new WeakSet<PostgresClient>();
  /** The server that answers the heartbeats. */
  readonly server: CurrentServer = new CurrentServer();

  constructor(where: { readonly url?: string | undefined; readonly pool?: PostgresPool | undefined }) {
    this.#url = where.url;
    this.#isSet = where.pool === undefined;
    if (where.pool === undefined) {
      const notSet = (): void => void (this.#isSet = false);
      const reads = ownPool(where.url, AT_ONCE.read, { settings: READ_SETTINGS, notSet });
      const works = ownPool(where.url, AT_ONCE.work + AT_ONCE.control, { settings: SETTINGS, notSet });
      this.#own = [reads, works];
      const forWork = { pool: works, turns: new Turns(works) };
      this.#pools = { work: forWork, read: { pool: reads, turns: new Turns(reads) }, control: forWork };
    } else {
      this.#own = [];
      const forAll = { pool: where.pool, turns: new Turns(where.pool) };
      this.#pools = { work: forAll, read: forAll, control: forAll };
    }
    this.#gates = {
      work: new Gate(AT_ONCE.work),
      read: new Gate(AT_ONCE.read),
      control: new Gate(AT_ONCE.control),
    };
  }

  /**
   * Until when a work command may take effect whose answer was lost, by `performance.now()`. Nobody has heard of what it stores.
   */
  get lostUntil(): number {
    return this.#lostUntil;
  }

  /**
   * Runs one command, in a transaction of its own.
   *
   * @param since When its caller began to wait, by `performance.now()`. Default: now.
   */
  query<Row>(
    purpose: Purpose,
    { name, text, isForMany = false, isFiltered = false }: Statement,
    values: readonly unknown[] = [],
    since?: number,
  ): Promise<readonly Row[]> {
    const kept = !isForMany || this.#isSet ? name : undefined;
    const action = async (client: PostgresClient, until: number): Promise<readonly Row[]> => {
      for (let isKept = this.#keepsPrepared; ;) {
        const left = until - performance.now();
        try {
          return await this.#send<Row>(client, text, values, isKept ? kept : undefined, left);
        } catch (error) {
          const state = sqlStateOf(error) ?? "";
          // Several are under way, and each is told.
          if (isKept && ["26000", "42P05"].includes(state)) isKept = this.#keepsPrepared = false;
          // It has stored nothing, and sees when it is sent again what the other has stored.
          else if (!IN_THE_WAY.has(state) || performance.now() >= until) throw error;
        }
      }
    };
    const answer = this.#with(purpose, action, since);
    if (purpose !== "read") return answer;
    return answer.catch((error: unknown) => throwOfRead(error, isFiltered ? "filtered" : "whole"));
  }

  /**
   * Runs several commands as one transaction: all of them, or none.
   *
   * @param since When its caller began to wait, by `performance.now()`. Default: now.
   */
  transaction<T>(purpose: Purpose, action: (run: Run) => Promise<T>, since?: number): Promise<T> {
    const runAll = async (client: PostgresClient, until: number): Promise<T> => {
      const run: Run = async <Row>(
        text: string,
        values: readonly unknown[] = [],
        answerMs: number = ANSWER_MS,
      ) => {
        const rows = await this.#send<Row>(client, text, values, undefined, answerMs);
        this.#gates[purpose].succeeded();
        return rows;
      };
      await run("BEGIN ISOLATION LEVEL READ COMMITTED", [], until - performance.now());
      try {
        const result = await action(run);
        await run("COMMIT");
        return result;
      } catch (error) {
        if (!(error instanceof NoAnswerError))
          await run("ROLLBACK").catch(() => void this.#inTransaction.add(client));
        throw error;
      }
    };
    return this.#with(purpose, runAll, since);
  }

  /** A connection that stays open until it is released. */
  async dedicated(): Promise<PostgresClient> {
    if (this.#own.length === 0) return connected(this.#pools.control.pool);
    const pool = ownPool(this.#url, 1, { settings: LISTEN_SETTINGS, notSet: () => {} });
    const client = await connected(pool).catch((error: unknown) => {
      void pool.end();
      throw error;
    });
    return Object.assign(client, { release: () => endNow(client, pool) });
  }

  async close(): Promise<void> {
    const tooLate = after(ANSWER_MS);
    // A pool that is told to end forgets who waits for a connection: each would wait for as long as a command may take, and keep
    // the process running.
    await Promise.race([this.#quiet(), tooLate]);
    await Promise.race([Promise.all(this.#own.map((pool) => pool.end())), tooLate]);
  }

  /** Resolves when what was begun has ended, and what followed from it. */
  async #quiet(): Promise<void> {
    const gates = Object.values(this.#gates);
    do {
      await Promise.all(gates.map((gate) => gate.quiet()));
      await nextTurn();
    } while (gates.some((gate) => !gate.isQuiet));
  }

  #with<T>(
    purpose: Purpose,
    action: (client: PostgresClient, until: number) => Promise<T>,
    since: number | undefined,
  ): Promise<T> {
    const use = async (until: number): Promise<T> => {
      const { pool, turns } = this.#pools[purpose];
      const client = await turns.take(() => this.#connected(pool, until), until);
      try {
        const result = await action(client, until);
        giveBack(client);
        return result;
      } catch (error) {
        if (error instanceof NoAnswerError) drop(client);
        if (purpose === "work" && isUnknown(error)) this.#lostUntil = performance.now() + ENDS_WITHIN_MS;
        giveBack(client, breaksConnection(error) || this.#inTransaction.has(client));
        throw error;
      } finally {
        turns.giveBack();
      }
    };
    return this.#gates[purpose].pass(use, since);
  }

  async #connected(pool: PostgresPool, until: number): Promise<PostgresClient> {
    for (;;) {
      const client = await connected(pool, until - performance.now());
      if (!this.server.isLeftBy(client)) return client;
      giveBack(client, true);
    }
  }

  async #send<Row>(
    client: PostgresClient,
    text: string,
    values: readonly unknown[],
    name: string | undefined,
    answerMs: number,
  ): Promise<readonly Row[]> {
    try {
      const config = { text, values: [...values], types: RESULT_TYPES, ...(name !== undefined && { name }) };
      const { rows } = await answered(client.query(config), answerMs);
      return rows as readonly Row[];
    } catch (error) {
      if (error instanceof NoAnswerError || error instanceof StoreError || sqlStateOf(error) !== undefined)
        throw error;
      throw endingOf(client) ?? new NoAnswerError(connectionMessageOf(error), { cause: error });
    }
  }
}

const NO_CONNECTION =
  `The database cannot be reached: no connection within ${ANSWER_MS / 1_000} s. ` +
  "See that it runs and that its host and port are right, and try again.";

function notInTime(): Error {
  return new NotInTimeError(NO_CONNECTION);
}

async function connected(pool: PostgresPool, ms: number = ANSWER_MS): Promise<PostgresClient> {
  const connecting = takeFrom(pool);
  try {
    return await within(ms, connecting, notInTime);
  } catch (error) {
    // A connection that is made too late for this command goes to the pool, for the next one.
    connecting.then((client) => giveBack(client)).catch(() => {});
    const isKnown = sqlStateOf(error) !== undefined && !isUnknown(error);
    if (error instanceof NotReachedError || isKnown) throw error;
    throw new NotReachedError(connectionMessageOf(error), { cause: error });
  }
}

/** Ends a connection at once, whatever it waits for. */
function drop(client: PostgresClient): void {
  const { connection } = client as { connection?: { stream?: { destroy?(): void } } };
  connection?.stream?.destroy?.();
}

function endNow(client: PostgresClient, pool: pg.Pool): void {
  drop(client);
  void pool.end().catch(() => {});
}

function after(ms: number): Promise<void> {
  return new Promise((resolve) => {
    setTimeout(resolve, ms).unref();
  });
}
