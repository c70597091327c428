import pg from "pg";
import type { Connections, Run } from "../database/connections.ts";
import { keptStatement } from "../database/kept-statement.ts";
import { isWithoutPartition } from "../database/postgres-error.ts";
import { DAILY_TABLES, dayOf, inSchema, type Names, startOfDay, startOfDayColumn } from "./names.ts";

/** Days for which partitions are made ahead. */
const AHEAD = 1;

/** How long a command waits for what reads a day that is to be removed; then it is tried again a minute later. */
const LOCK_WAIT = "500ms";

/** The same of one that makes a day, as for ANALYZE of the whole table: not as long as for an answer, so that there is one. */
const LONG_LOCK_WAIT = "4s";

const DAY_NAME = /_(-?\d+)$/;

/** So many pending deliveries are looked at by one command: after an outage, all of them take longer than an answer may. */
const LOOKED_AT = 2_000;

const [DAY_BEGINS, DAY_IS_OVER] = [startOfDayColumn("day"), startOfDayColumn("day + 1")];

/** Pending deliveries that were accepted on a day: by an index of those that wait, and among the claimed, which are few. */
function pending(claimed: string): string {
  return `SELECT FROM $.delivery
    WHERE worker ${claimed} AND accepted_at >= ${DAY_BEGINS} AND accepted_at < ${DAY_IS_OVER}`;
}

/** On which of some days a pending delivery was accepted: its body is kept there. */
const BODY_DAYS = `SELECT day FROM unnest($1::int[]) AS day
  WHERE EXISTS (${pending("IS NULL")}) OR EXISTS (${pending("IS NOT NULL")})`;

/** On which of some days a round of a pending delivery ended, of the next ones by their key; and the last one of these. */
const ROUND_DAYS = `WITH few AS MATERIALIZED (SELECT source, id, attempts, accepted_at FROM $.delivery
    WHERE (source, id) > ($2, $3) ORDER BY source, id LIMIT ${LOOKED_AT})
  -- LIMIT has each of them looked up in the day. It would else be joined with all that the day holds.
  SELECT day, NULL AS source, NULL AS id FROM unnest($1::int[]) AS day WHERE EXISTS (SELECT FROM few AS d CROSS JOIN LATERAL
      (SELECT FROM $.attempt AS a WHERE a.source = d.source AND a.delivery = d.id AND a.day = day.day LIMIT 1) AS round
      WHERE d.attempts > 0 AND d.accepted_at < ${DAY_IS_OVER})
  UNION ALL (SELECT NULL, source, id FROM few ORDER BY source DESC, id DESC LIMIT 1)`;

/** Whether a table is there, and the tablespace of another one, which LIKE leaves out, if it has one of its own. */
const PLACE = `SELECT to_regclass($1) IS NOT NULL AS there,
  (SELECT t.spcname FROM pg_class AS c JOIN pg_tablespace AS t ON t.oid = c.reltablespace WHERE c.oid = $2::regclass) AS space`;

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

  /** Runs a command that stores rows of these days; again, if another process has removed one that this one knew. */
  async storing<T>(days: ReadonlySet<number>, command: () => Promise<T>): Promise<T> {
    for (let isAgain = false; ; isAgain = true) {
      if (!this.has(days)) await this.ensure(days);
      try {
        return await command();
      } catch (error) {
        if (!this.isMissing(error) || isAgain) throw error;
      }
    }
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

  /**
   * Removes the days whose deliveries were kept for long enough. One delivery may be pending for ever, because its destination
   * is disabled: it keeps its own days, and no others.
   *
   * @param isStopped Whether to begin no more commands.
   */
  async removeBefore(now: number, keepMs: number, isStopped: () => boolean = () => false): Promise<void> {
    const days = await this.#existing("ended");
    await this.#drop(
      "ended",
      days.filter((day) => startOfDay(day + 1) + keepMs <= now),
    );
    // A delivery ends up to a day after it was accepted.
    const isOutdated = (day: number): boolean => startOfDay(day + 2) + keepMs <= now;
    const bodies = (await this.#existing("message")).filter(isOutdated);
    await this.#drop("message", await this.#withoutBodies(bodies));
    const rounds = (await this.#existing("attempt")).filter(isOutdated);
    await this.#drop("attempt", await this.#withoutRounds(rounds, isStopped));
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
    // Not among the commands that extend the lease, which would wait as long.
    return this.#connections.transaction("read", async (run) => {
      await this.#lock(run, day, LONG_LOCK_WAIT);
      for (const table of DAILY_TABLES) {
        const [part, whole] = [this.#names.table(`${table}_${day}`), this.#names.table(table)];
        const [found] = await run<{ there: boolean; space: string | null }>(PLACE, [part, whole]);
        if (found?.there === true) continue;
        // PARTITION OF would wait for whatever reads the table, as a backup does for hours, and all else would wait behind it.
        // Whatever a newer version, or an administrator, has set of the table holds for its days, too.
        const space = found?.space == null ? "" : ` TABLESPACE ${pg.escapeIdentifier(found.space)}`;
        await run(`CREATE TABLE ${part} (LIKE ${whole} INCLUDING ALL)${space}`);
        await run(`ALTER TABLE ${whole} ATTACH PARTITION ${part} FOR VALUES IN (${day})`);
      }
    });
  }

  /**
   * Until the end of the transaction, no other process makes or removes the day: the database fails on two that do.
   *
   * @param wait How long each command of the transaction waits for what is in its way.
   */
  async #lock(run: Run, day: number, wait: string): Promise<void> {
    await run(`SET LOCAL lock_timeout = '${wait}'`);
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
        await this.#lock(run, day, LOCK_WAIT);
        await run(`DROP TABLE IF EXISTS ${this.#names.table(`${table}_${day}`)}`);
        if (table === "ended") await run(inSchema(this.#names, "DELETE FROM $.tally WHERE day = $1"), [day]);
      });
      // It is made again before anything is stored in it.
      this.#days.delete(day);
    }
  }

  /** Those of some days that keep the body of no pending delivery. */
  async #withoutBodies(days: readonly number[]): Promise<readonly number[]> {
    if (days.length === 0) return days;
    const rows = await this.#ask<{ day: number }>(BODY_DAYS, [days]);
    return without(days, rows);
  }

  /** Those of some days that keep a round of no pending delivery, unless it is stopped before that is known. */
  async #withoutRounds(days: readonly number[], isStopped: () => boolean): Promise<readonly number[]> {
    let left = days;
    let [source, id] = ["", ""];
    while (left.length > 0) {
      if (isStopped()) return [];
      const rows = await this.#ask<RoundDay | LookedAt>(ROUND_DAYS, [left, source, id]);
      left = without(left, rows);
      const last = rows.find((row) => row.day === null);
      if (last === undefined) break;
      ({ source, id } = last);
    }
    return left;
  }

  #ask<Row>(sql: string, values: readonly unknown[]): Promise<readonly Row[]> {
    return this.#connections.query<Row>("control", { text: inSchema(this.#names, sql) }, values);
  }
}

/** A day on which a round ended. */
interface RoundDay {
  readonly day: number;
}

/** The last delivery that a command has looked at. */
interface LookedAt {
  readonly day: null;
  readonly source: string;
  readonly id: string;
}

function without(
  days: readonly number[],
  rows: readonly { readonly day: number | null }[],
): readonly number[] {
  const needed = new Set(rows.map(({ day }) => day));
  return days.filter((day) => !needed.has(day));
}
