import { type OneOrMore, valuesOf } from "../delivery/delivery-filter.ts";

/** What SQLite binds. */
export type Bound = string | number;

/** Conditions of a statement, all of which must hold, and the values that are bound to them. */
export class Conditions {
  #parts: string[] = [];
  readonly values: Bound[] = [];

  get isEmpty(): boolean {
    return this.#parts.length === 0;
  }

  get sql(): string {
    return this.#parts.length === 0 ? "TRUE" : this.#parts.join(" AND ");
  }

  add(sql: string, ...values: readonly Bound[]): this {
    this.#parts.push(sql);
    this.values.push(...values);
    return this;
  }

  /** One of these values, or anything when none is given. The statement does not depend on how many there are. */
  any(column: string, wanted: OneOrMore<Bound> | undefined): this {
    if (wanted === undefined) return this;
    if (typeof wanted !== "object") return this.add(`${column} = ?`, wanted);
    return this.add(`${column} IN (SELECT value FROM json_each(?))`, JSON.stringify(valuesOf(wanted)));
  }
}

/** The first text after all that start with a prefix, as SQLite compares them: byte by byte. */
export function prefixEnd(prefix: string): string {
  return `${prefix}\u{10FFFF}`;
}
