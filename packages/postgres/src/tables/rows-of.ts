import type { ElementType } from "../database/binary-array.ts";

/** Names and types of columns, in their order. */
export type ColumnTypes = Readonly<Record<string, ElementType>>;

/**
 * SQL for arrays of parameters as rows. In a list of expressions they are read as the rows come; in FROM, the server first
 * stores each array by itself.
 *
 * @param first Number of the first parameter.
 * @param more SQL of further columns.
 */
export function rowsOf(columns: ColumnTypes, first: number, more = ""): string {
  const rows = Object.entries(columns).map(
    ([name, type], index) => `unnest($${first + index}::${type}[]) AS ${name}`,
  );
  return `(SELECT ${rows.join(", ")}${more})`;
}

/**
 * The same in FROM, under a name: for rows that are joined with a table.
 *
 * @param position Name of a column that says which row it is, from 1.
 */
export function unnestOf(columns: ColumnTypes, first: number, name: string, position?: string): string {
  const arrays = Object.values(columns).map((type, index) => `$${first + index}::${type}[]`);
  const [ordinality, more] = position === undefined ? ["", ""] : [" WITH ORDINALITY", `, ${position}`];
  return `unnest(${arrays.join(", ")})${ordinality} AS ${name} (${Object.keys(columns).join(", ")}${more})`;
}
