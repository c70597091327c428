import type Database from "libsql";

type Statement = Database.Statement;
type Value = string | number | Uint8Array | null;

/** How many rows one statement inserts. A statement takes as long to start as a row takes to insert. */
const SIZES: readonly number[] = [32, 8, 1];

/** Gathers rows of a table, and inserts many of them with one statement. */
export class BulkInsert {
  /** How many values a row has. */
  readonly #width: number;
  readonly #statements: readonly (readonly [size: number, statement: Statement])[];
  #values: Value[] = [];

  /**
   * @param into `INSERT INTO table (columns)`
   * @param row The values of a row in parentheses, with parameters numbered from `?1`.
   */
  constructor(db: Database.Database, into: string, row: string) {
    this.#width = Math.max(...Array.from(row.matchAll(/\?(\d+)/gu), ([, number]) => Number(number)));
    this.#statements = SIZES.map((size) => {
      const rows = Array.from({ length: size }, (_, position) => rowAt(row, position * this.#width));
      return [size, db.prepare(`${into} VALUES ${rows.join(", ")}`)];
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

  /** Inserts what was gathered. */
  write(): void {
    const values = this.#values;
    if (values.length === 0) return;
    this.#values = [];
    let at = 0;
    for (const [size, statement] of this.#statements) {
      const length = size * this.#width;
      for (; values.length - at >= length; at += length) {
        statement.run(values.length === length ? values : values.slice(at, at + length));
      }
    }
  }
}

/** A row whose parameters come after so many others. */
function rowAt(row: string, before: number): string {
  return row.replaceAll(/\?(\d+)/gu, (_, number) => `?${Number(number) + before}`);
}
