/** Text in the cell of a Markdown table. */
export function cell(text) {
  return (
    text
      .replaceAll(/\s+/g, " ")
      .replaceAll("|", String.raw`\|`)
      // Not within code marks, where it would be shown as it is written.
      .replaceAll(/(`[^`]*`)|<(?=[a-z/])/gi, (_, code = "&lt;") => code)
      .trim()
  );
}

/** A Markdown table, padded as the formatter pads it. Text in code marks keeps its characters. */
export function table(head, rows) {
  const cells = [head, ...rows].map((row) =>
    row
      .map(String)
      .map((text) => (/^`[^`]*`$/.test(text) ? text.replaceAll("|", String.raw`\|`) : cell(text))),
  );
  const widths = head.map((_, index) => Math.max(3, ...cells.map((row) => row[index].length)));
  const line = (row) => `| ${row.map((text, index) => text.padEnd(widths[index])).join(" | ")} |`;
  const [first, ...others] = cells.map(line);
  return [first, `| ${widths.map((width) => "-".repeat(width)).join(" | ")} |`, ...others].join("\n");
}
