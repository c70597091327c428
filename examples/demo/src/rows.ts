/** One line of the demo's table: what was sent, and what the receiver said of it. */
export interface Row {
  readonly sent: string;
  readonly how: string;
  readonly status: number | undefined;
  /** What the receiver told the sender: its own words, not ours. */
  readonly answer: string;
  readonly asItShouldBe: boolean;
}

const HEADINGS = ["", "message", "sent", "status", "the receiver said", "as it should be"] as const;

/** The rows as a table for a terminal. */
export function table(rows: readonly Row[]): string {
  const cells = rows.map((row, index) => [
    String(index + 1),
    row.sent,
    row.how,
    String(row.status ?? "none"),
    row.answer,
    row.asItShouldBe ? "yes" : "NO",
  ]);
  const widths = HEADINGS.map((heading, column) =>
    Math.max(heading.length, ...cells.map((line) => line[column]?.length ?? 0)),
  );
  const line = (texts: readonly string[]): string =>
    texts
      .map((text, column) =>
        column === 0 ? text.padStart(widths[0] ?? 0) : text.padEnd(widths[column] ?? 0),
      )
      .join("  ")
      .trimEnd();
  return [line(HEADINGS), line(widths.map((width) => "-".repeat(width))), ...cells.map(line)].join("\n");
}
