/** A text as libsql gives it: as bytes where it has a NUL, at which libsql would end a text. */
export type StoredText = string | Uint8Array | ArrayBuffer;

const UTF8 = new TextDecoder();

/** Selects columns whose text comes from others, as {@link StoredText}. Each keeps its name without the table's. */
export function wholeTexts(...columns: readonly string[]): string {
  return columns
    .map((column) => {
      const name = column.replace(/^\w+\./, "");
      return `iif(instr(${column}, char(0)) > 0, CAST(${column} AS BLOB), ${column}) AS ${name}`;
    })
    .join(", ");
}

/** The text of a column that {@link wholeTexts} selected. */
export function textOf(text: StoredText): string {
  return typeof text === "string" ? text : UTF8.decode(text);
}
