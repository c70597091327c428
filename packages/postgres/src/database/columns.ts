import { BinaryArray, binaryArray, type Element, type ElementType } from "./binary-array.ts";

/** Rows that go to the database as an array of each column, for `unnest`. */
export class Columns {
  readonly #types: readonly ElementType[];
  readonly #expected: number;
  /** Undefined as long as there is no row. */
  #arrays: readonly BinaryArray[] | undefined;

  /** @param expected How many rows there will be, roughly. */
  constructor(types: readonly ElementType[], expected: number) {
    this.#types = types;
    this.#expected = expected;
  }

  /**
   * Adds a row: a value for each column, in their order.
   *
   * @throws TypeError when a value is not of its column's type
   */
  add(row: readonly Element[]): void {
    this.#arrays ??= this.#types.map((type) => new BinaryArray(type, this.#expected));
    this.#arrays.forEach((array, index) => array.add(row[index] ?? null));
  }

  /** The arrays, as values of a command. */
  values(): readonly Buffer[] {
    return this.#arrays?.map((array) => array.bytes()) ?? this.#types.map((type) => EMPTY[type]);
  }
}

const EMPTY: Readonly<Record<ElementType, Buffer>> = {
  bool: binaryArray("bool", []),
  bytea: binaryArray("bytea", []),
  bigint: binaryArray("bigint", []),
  integer: binaryArray("integer", []),
  text: binaryArray("text", []),
};
