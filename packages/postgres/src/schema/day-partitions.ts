import type { Connections } from "../database/connections.ts";
import { keptStatement } from "../database/kept-statement.ts";
import { isWithoutPartition } from "../database/postgres-error.ts";
import { DAILY_TABLES, dayOf, inSchema, type Names, startOfDay } from "./names.ts";

/** Days for which partitions are made ahead. */
const AHEAD = 1;

/** How long a command waits for what reads a day that is to be removed; then it is tried again a minute later. */
const LOCK_WAIT = "500ms";

const DAY_NAME = /_(-?\d+)$/;

/** By two indexes: of those that wait, and of those that are claimed. */
const OLDEST = `SELECT least((SELECT min(accepted_at) FROM $.delivery WHERE worker IS NULL),
  (SELECT min(accepted_at) FROM $.delivery WHERE worker IS NOT NULL)) AS at`;

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
    await Promise.all([...days].map((day) => this.#days.get(day) ?? this.#begin(day)));
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
    // A delivery ends up to a day after it was accepted.
    const older = (await this.#existing("message")).filter((day) => startOfDay(day + 2) + keepMs <= now);
    if (older.length > 0) await this.#dropUnused(older);
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
      await run("SELECT pg_advisory_xact_lock(hashtext($1))", [`${this.#names.schema} ${day}`]);
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
        await run(`DROP TABLE IF EXISTS ${this.#names.table(`${table}_${day}`)}`);
        if (table === "ended") await run(inSchema(this.#names, "DELETE FROM $.tally WHERE day = $1"), [day]);
      });
      // It is made again before anything is stored in it.
      this.#days.delete(day);
    }
  }

  /** Messages of a day are needed for as long as a delivery of that day is pending. */
  async #dropUnused(days: readonly number[]): Promise<void> {
    const statement = { text: inSchema(this.#names, OLDEST) };
    const [row] = await this.#connections.query<{ at: number | null }>("control", statement);
    const unused = days.filter((day) => row?.at == null || row.at >= startOfDay(day + 1));
    await this.#drop("message", unused);
    await this.#drop("attempt", unused);
  }
}
