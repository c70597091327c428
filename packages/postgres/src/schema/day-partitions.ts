import type { Connections, Run } from "../database/connections.ts";
import { keptStatement } from "../database/kept-statement.ts";
import { isWithoutPartition } from "../database/postgres-error.ts";
import { DAILY_TABLES, dayOf, inSchema, type Names, startOfDay, startOfDayColumn } from "./names.ts";

/** Days for which partitions are made ahead. */
const AHEAD = 1;

/** How long a command waits for what reads a day that is to be removed; then it is tried again a minute later. */
const LOCK_WAIT = "500ms";

const DAY_NAME = /_(-?\d+)$/;

/** Pending deliveries: by an index of those that wait, and among the claimed, which are few. */
function pending(condition: string): string {
  const half = (claimed: string): string =>
    `SELECT source, id FROM $.delivery WHERE worker ${claimed} AND ${condition}`;
  return `(${half("IS NULL")} UNION ALL ${half("IS NOT NULL")}) AS d`;
}

/** Of more pending deliveries than this, it is not asked which rounds they have: a command has to end in time. */
const MANY = 10_000;

const [DAY_BEGINS, DAY_IS_OVER] = [startOfDayColumn("$1::integer"), startOfDayColumn("$1::integer + 1")];

/**
 * Whether pending deliveries need what is kept of a day: bodies are those of the deliveries that were accepted on it, and rounds
 * those that ended on it. A delivery of a disabled destination is pending for ever: it keeps its own days, and no others.
 */
const IS_NEEDED = {
  message: `SELECT EXISTS (SELECT FROM ${pending(`accepted_at >= ${DAY_BEGINS} AND accepted_at < ${DAY_IS_OVER}`)}) AS needed`,
  attempt: `WITH tried AS MATERIALIZED
      (SELECT source, id FROM ${pending(`accepted_at < ${DAY_IS_OVER} AND attempts > 0`)} LIMIT ${MANY + 1})
    SELECT (SELECT count(*) FROM tried) > ${MANY} OR EXISTS (SELECT FROM tried CROSS JOIN LATERAL
      (SELECT FROM $.attempt AS a WHERE a.source = tried.source AND a.delivery = tried.id AND a.day = $1::integer LIMIT 1) AS one
    ) AS needed`,
};

const PARTITIONS = keptStatement(
  "partitions",
  "SELECT inhrelid::regclass::text AS name FROM pg_inherits WHERE inhparent = $1::regclass",
);

/** The partitions of the tables that have one for each day. Removing a day removes its files, whatever they hold. */
export class DayPartitions {
  readonly #connections: Connections;
  readonly #names: Names;
  /** Days that are made, or are being made. */
  readonly #days = new Map<number, "made" | Promise<void>>();

  constructor(connections: Connections, names: Names) {
    this.#connections = connections;
    this.#names = names;
  }

  /** Whether rows of all these days can be stored without further ado. */
  has(days: Iterable<number>): boolean {
    for (const day of days) if (this.#days.get(day) !== "made") return false;
    return true;
  }

  /** Makes what is missing for rows of these days. */
  async ensure(days: Iterable<number>): Promise<void> {
    const making = [...days].map((day) => this.#days.get(day) ?? this.#begin(day));
    await Promise.all(making.filter((one) => one !== "made"));
  }

  /** Whether a command failed since a partition is missing. It is then made again before the next command. */
  isMissing(error: unknown): boolean {
    if (!isWithoutPartition(error)) return false;
    this.#days.clear();
    return true;
  }

  /** Makes the partitions of today and of the days to come. */
  async ensureAhead(now: number): Promise<void> {
    const today = dayOf(now);
    const days = Array.from({ length: AHEAD + 1 }, (_, index) => today + index);
    if (!this.has(days)) await this.ensure(days);
  }

  /** Removes the days whose deliveries were kept for long enough. */
  async removeBefore(now: number, keepMs: number): Promise<void> {
    const days = await this.#existing("ended");
    await this.#drop(
      "ended",
      days.filter((day) => startOfDay(day + 1) + keepMs <= now),
    );
    for (const table of ["message", "attempt"] as const) {
      // A delivery ends up to a day after it was accepted.
      const older = (await this.#existing(table)).filter((day) => startOfDay(day + 2) + keepMs <= now);
      for (const day of older) if (!(await this.#isNeeded(table, day))) await this.#drop(table, [day]);
    }
  }

  #begin(day: number): Promise<void> {
    const making = this.#make(day).then(
      () => void this.#days.set(day, "made"),
      (error: unknown) => {
        this.#days.delete(day);
        throw error;
      },
    );
    this.#days.set(day, making);
    return making;
  }

  #make(day: number): Promise<void> {
    return this.#connections.transaction("control", async (run) => {
      await this.#lock(run, day);
      for (const table of DAILY_TABLES) {
        const [part, whole] = [this.#names.table(`${table}_${day}`), this.#names.table(table)];
        const [found] = await run<{ there: boolean }>("SELECT to_regclass($1) IS NOT NULL AS there", [part]);
        if (found?.there === true) continue;
        // PARTITION OF would wait for whatever reads the table, as a backup does for hours, and all else would wait behind it.
        // Whatever a newer version has set of the table holds for its days, too.
        await run(`CREATE TABLE ${part} (LIKE ${whole} INCLUDING ALL)`);
        await run(`ALTER TABLE ${whole} ATTACH PARTITION ${part} FOR VALUES IN (${day})`);
      }
    });
  }

  /** Until the end of the transaction, no other process makes or removes the day: the database fails on two that do. */
  async #lock(run: Run, day: number): Promise<void> {
    await run("SELECT pg_advisory_xact_lock(hashtext($1))", [`${this.#names.schema} ${day}`]);
  }

  async #existing(table: string): Promise<readonly number[]> {
    const rows = await this.#connections.query<{ name: string }>("control", PARTITIONS, [
      this.#names.table(table),
    ]);
    return rows.flatMap(({ name }) => {
      const day = DAY_NAME.exec(name.replaceAll('"', ""))?.[1];
      return day === undefined ? [] : [Number(day)];
    });
  }

  async #drop(table: string, days: readonly number[]): Promise<void> {
    for (const day of days) {
      await this.#connections.transaction("control", async (run) => {
        await run(`SET LOCAL lock_timeout = '${LOCK_WAIT}'`);
        await this.#lock(run, day);
        await run(`DROP TABLE IF EXISTS ${this.#names.table(`${table}_${day}`)}`);
        if (table === "ended") await run(inSchema(this.#names, "DELETE FROM $.tally WHERE day = $1"), [day]);
      });
      // It is made again before anything is stored in it.
      this.#days.delete(day);
    }
  }

  async #isNeeded(table: keyof typeof IS_NEEDED, day: number): Promise<boolean> {
    const statement = { text: inSchema(this.#names, IS_NEEDED[table]) };
    const [row] = await this.#connections.query<{ needed: boolean }>("control", statement, [day]);
    return row?.needed !== false;
  }
}
