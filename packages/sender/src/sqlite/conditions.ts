import { type OneOrMore, valuesOf } from "../delivery/delivery-filter.ts";
import { prefixEnd } from "../delivery/prefix-end.ts";

/** What SQLite binds. */
export type Bound = string | number;

/**
 * The text after `WHERE`: conditions that must all hold, such as `at >= ? AND state = ?`, and the values of their parameters in the
 * same order. Without a condition, every row matches.
 */
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

  /** All of others. */
  and({ sql, values, isEmpty }: Conditions): this {
    return isEmpty ? this : this.add(sql, ...values);
  }

  /** A text that starts so. */
  startsWith(column: string, prefix: string): this {
    const end = prefixEnd(prefix);
    return end === undefined
      ? this.add(`${column} >= ?`, prefix)
      : this.add(`${column} >= ? AND ${column} < ?`, prefix, end);
  }

  /** One of these values, or anything when none is given. The statement does not depend on how many there are. */
  any(column: string, wanted: OneOrMore<Bound> | undefined): this {
    if (wanted === undefined) return this;
    if (typeof wanted !== "object") return this.add(`${column} = ?`, wanted);
    return this.add(`${column} IN (SELECT value FROM json_each(?))`, JSON.stringify(storedValuesOf(wanted)));
  }
}

/** The values of which any matches, each once, as a column has them: JSON would keep a lone surrogate, where it has U+FFFD. */
export function storedValuesOf(wanted: OneOrMore<Bound>): readonly Bound[] {
  const values = valuesOf(wanted).map((value) =>
    typeof value === "string" ? Buffer.from(value).toString() : value,
  );
  return [...new Set(values)];
}
