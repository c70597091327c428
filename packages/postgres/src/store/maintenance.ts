import type { Clock } from "@countersign/protocol";
import type { Connections } from "../database/connections.ts";
import { keptStatement } from "../database/kept-statement.ts";
import type { DayPartitions } from "../schema/day-partitions.ts";
import { inSchema, type Names } from "../schema/names.ts";
import type { WorkerTable } from "../workers/worker-table.ts";

/** How often something is looked for that is to be removed. */
const INTERVAL_MS = 60_000;

/** How long keys of calls are kept, unless a process has asked for a longer time: longer than a server asks for. */
const KEEP_KEYS_MS = 172_800_000;

/** Removed with one command, so that nothing waits for long. */
const FEW = 5_000;

/** Skipped calls that are kept at most. */
const MOST_SKIPPED = 10_000;

/** The parts that maintenance uses. */
export interface MaintenanceOptions {
  readonly connections: Connections;
  readonly names: Names;
  readonly partitions: DayPartitions;
  readonly workers: WorkerTable;
  readonly clock: Clock;
  readonly keepMs: number;
}

const TAKE_TURN = `INSERT INTO $.meta AS m VALUES ('swept', $1) ON CONFLICT (key) DO UPDATE SET value = excluded.value
  WHERE abs(excluded.value - m.value) >= $2 RETURNING value`;
/** Whichever process removes them, the longest time counts that any has asked for. */
const KEEP_KEYS = `INSERT INTO $.meta AS m VALUES ('keep_keys', $1) ON CONFLICT (key) DO UPDATE SET value = excluded.value
  WHERE m.value < excluded.value`;
const FORGET_SEEN = `DELETE FROM $.seen WHERE (source, key) IN (SELECT source, key FROM $.seen
  WHERE at < $1::bigint - greatest($2::bigint, (SELECT value FROM $.meta WHERE key = 'keep_keys')) ORDER BY at LIMIT ${FEW})`;
const FORGET_SKIPPED = `DELETE FROM $.skipped WHERE (source, id) IN (
  (SELECT source, id FROM $.skipped WHERE accepted_at < $1 ORDER BY accepted_at, id LIMIT ${FEW})
  UNION ALL (SELECT source, id FROM $.skipped ORDER BY accepted_at DESC, id DESC LIMIT ${FEW} OFFSET ${MOST_SKIPPED}))`;

/** Removes what was kept for long enough. One process does it at a time. */
export class Maintenance {
  /** How long keys of calls are kept, as far as this process knows. */
  keepKeysMs: number = KEEP_KEYS_MS;
  readonly #options: MaintenanceOptions;
  #ranAt = Number.NEGATIVE_INFINITY;
  #isRunning = false;
  #isStopped = false;

  constructor(options: MaintenanceOptions) {
    this.#options = options;
  }

  /** Keys of calls are asked for within this time, which is longer than they are kept. */
  async keepKeysFor(ms: number): Promise<void> {
    const before = this.keepKeysMs;
    this.keepKeysMs = ms;
    const { connections, names } = this.#options;
    try {
      await connections.query("control", { text: inSchema(names, KEEP_KEYS) }, [Math.ceil(ms)]);
    } catch (error) {
      // The next call asks again.
      this.keepKeysMs = before;
      throw error;
    }
  }

  /** Does what is to be done, if it is time. */
  async run(): Promise<void> {
    const { clock, partitions, keepMs } = this.#options;
    const now = Math.floor(clock.now());
    await partitions.ensureAhead(now);
    // The difference in either direction: a clock that was ahead and is set back must not put it off.
    if (this.#isRunning || Math.abs(now - this.#ranAt) < INTERVAL_MS) return;
    this.#isRunning = true;
    this.#ranAt = now;
    try {
      if (!(await this.#isOurTurn(now))) return;
      await this.#options.workers.releaseOrphans();
      await this.#delete("forget_seen", FORGET_SEEN, [now, KEEP_KEYS_MS]);
      await this.#delete("forget_skipped", FORGET_SKIPPED, [now - keepMs]);
      // Last, since it fails for as long as a backup reads a day that is to be removed.
      await partitions.removeBefore(now, keepMs, () => this.#isStopped);
    } catch (error) {
      // The store closes, and its connections have gone. What is left is for the next turn.
      if (!this.#isStopped) throw error;
    } finally {
      this.#isRunning = false;
    }
  }

  /** Begins no more commands for what is left. */
  stop(): void {
    this.#isStopped = true;
  }

  async #isOurTurn(now: number): Promise<boolean> {
    const { connections, names } = this.#options;
    const statement = { text: inSchema(names, TAKE_TURN) };
    return (await connections.query("control", statement, [now, INTERVAL_MS / 2])).length > 0;
  }

  /** Removes all that there is: more may come in the time until the next turn than one command removes. */
  async #delete(name: string, sql: string, values: readonly number[]): Promise<void> {
    const { connections, names } = this.#options;
    const text = inSchema(names, `WITH gone AS (${sql} RETURNING true) SELECT count(*) AS count FROM gone`);
    const statement = keptStatement(name, text);
    for (let isDone = false; !isDone && !this.#isStopped;) {
      const [gone] = await connections.query<{ count: number }>("read", statement, values);
      isDone = (gone?.count ?? 0) < FEW;
    }
  }
}
