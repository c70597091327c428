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

/** The same in FROM, under a name: for rows that are joined with a table. */
export function unnestOf(columns: ColumnTypes, first: number, name: string): string {
  const arrays = Object.values(columns).map((type, index) => `$${first + index}::${type}[]`);
  return `unnest(${arrays.join(", ")}) AS ${name} (${Object.keys(columns).join(", ")})`;
}
