import { verdictOf, type Row, type Target } from "./row.ts";
import type { Spread } from "./statistics.ts";

const HEADINGS = ["what", "ours", "peer or limit", "ratio (spread)", "target", "verdict"] as const;

/** A number as a person reads it: three digits that count, and commas between thousands. */
export function formatNumber(value: number): string {
  const magnitude = Math.abs(value);
  if (magnitude >= 1_000) return Math.round(value).toLocaleString("en");
  if (magnitude >= 100) return value.toFixed(0);
  return magnitude >= 10 ? value.toFixed(1) : value.toFixed(2);
}

/** The cells of each row, in the order of {@link HEADINGS}. */
function cellsOf(row: Row): string[] {
  const { what, against, unit, ours, theirs, ratio, target, skipped } = row;
  const figure = (value: number | undefined): string =>
    value === undefined ? "" : `${formatNumber(value)} ${unit}`;
  return [
    what,
    figure(ours),
    theirs === undefined ? against : `${against}: ${figure(theirs)}`,
    skipped ?? (ratio === undefined ? "" : formatRatio(ratio)),
    target === undefined ? "" : formatTarget(target, unit),
    verdictOf(row),
  ];
}

function formatRatio({ median, low, high }: Spread): string {
  return `${formatNumber(median)} (${formatNumber(low)} to ${formatNumber(high)})`;
}

function formatTarget({ of, is, value }: Target, unit: string): string {
  return of === "ratio" ? `${is} ${value}` : `${is} ${value.toLocaleString("en")} ${unit}`;
}

/** The rows as text for a terminal. */
export function textTable(rows: readonly Row[]): string {
  const [head = [], ...body] = padded([[...HEADINGS], ...rows.map(cellsOf)]);
  const rule = head.map((cell) => "-".repeat(cell.length));
  return [head, rule, ...body].map((cells) => cells.join("  ").trimEnd()).join("\n");
}

/** The rows as a Markdown table, its columns aligned. */
export function markdownTable(rows: readonly Row[]): string {
  const [head = [], ...body] = padded([[...HEADINGS], ...rows.map((row) => cellsOf(row).map(escapeCell))]);
  const rule = head.map((cell) => "-".repeat(cell.length));
  return [head, rule, ...body].map((cells) => `| ${cells.join(" | ")} |`).join("\n");
}

function escapeCell(cell: string): string {
  return cell.replaceAll("|", "\\|");
}

/** Cells as wide as the widest of their column. */
function padded(lines: readonly (readonly string[])[]): string[][] {
  const columns = lines[0]?.length ?? 0;
  const widths = Array.from({ length: columns }, (_, column) =>
    Math.max(...lines.map((cells) => cells[column]?.length ?? 0), 3),
  );
  return lines.map((cells) => cells.map((cell, column) => cell.padEnd(widths[column] as number)));
}
