import type Database from "libsql";

type Statement = Database.Statement;
type Value = string | number | Uint8Array | null;

/**
 * How many rows one statement writes. A statement takes as long to start as a row takes to write, and a client's batch is seldom
 * a multiple of 32.
 */
const SIZES: readonly number[] = [32, 16, 8, 4, 2, 1];

/** Gathers rows of values, and writes many of them with one statement. */
export class BulkWrite {
  /** How many values a row has. */
  readonly #width: number;
  readonly #statements: readonly (readonly [size: number, statement: Statement])[];
  #values: Value[] = [];

  /**
   * @param row The values of a row in parentheses, with parameters numbered from `?1`.
   * @param sqlOf The statement for rows such as `VALUES (?1, ?2), (?3, ?4)`.
   */
  constructor(db: Database.Database, row: string, sqlOf: (rows: string) => string) {
    this.#width = Math.max(...Array.from(row.matchAll(/\?(\d+)/gu), ([, number]) => Number(number)));
    this.#statements = SIZES.map((size) => {
      const rows = Array.from({ length: size }, (_, position) => rowAt(row, position * this.#width));
      return [size, db.prepare(sqlOf(`VALUES ${rows.join(", ")}`))];
    });
  }

  /** Gathers a row: the values of its parameters, in their order. */
  add(...values: Value[]): void {
    this.#values.push(...values);
  }

  /** Forgets what was gathered: its transaction failed. */
  clear(): void {
    this.#values.length = 0;
  }

  /** Writes what was gathered; returns how many rows were changed. */
  write(): number {
    const values = this.#values;
    if (values.length === 0) return 0;
    this.#values = [];
    let at = 0;
    let changes = 0;
    for (const [size, statement] of this.#statements) {
      const length = size * this.#width;
      for (; values.length - at >= length; at += length) {
        const rows = values.length === length ? values : values.slice(at, at + length);
        changes += statement.run(rows).changes;
      }
    }
    return changes;
  }
}

/** A row whose parameters come after so many others. */
function rowAt(row: string, before: number): string {
  return row.replaceAll(/\?(\d+)/gu, (_, number) => `?${Number(number) + before}`);
}
