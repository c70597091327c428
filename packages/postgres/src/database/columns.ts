import { binaryArray, type Element, type ElementType } from "./binary-array.ts";

/** Rows that go to the database as an array of each column, for `unnest`. */
export class Columns {
  readonly #types: readonly ElementType[];
  readonly #columns: readonly Element[][];

  constructor(types: readonly ElementType[]) {
    this.#types = types;
    this.#columns = types.map(() => []);
  }

  /** Adds a row: a value for each column, in their order. */
  add(row: readonly Element[]): void {
    this.#columns.forEach((column, index) => column.push(row[index] ?? null));
  }

  /**
   * The arrays, as values of a command.
   *
   * @throws TypeError when a value is not of its column's type
   */
  values(): readonly Buffer[] {
    return this.#columns.map((column, index) => binaryArray(this.#types[index] ?? "text", column));
  }
}
