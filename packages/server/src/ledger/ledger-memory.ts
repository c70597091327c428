import type { LedgerRows, RejectionRow } from "./ledger-rows.ts";
import { type Counted, mostOfEachSource } from "./most-of-each-source.ts";

/** A rejection in memory: its texts as bytes, since a text would keep all that it was cut from. */
interface Row extends Counted, Pick<RejectionRow, "id" | "at"> {
  readonly rejection: Buffer;
  readonly message: Buffer;
}

/** Keeps what a ledger remembers in memory, without libsql: a server with PostgreSQL runs where libsql has no build. */
export function ledgerInMemory(): LedgerRows {
  /** The oldest first. */
  let rows: Row[] = [];
  let lastId = 0;
  let kept: readonly string[] = [];
  return {
    seen: undefined,
    // Nothing that it does fails half-way.
    inTransaction: (work) => work(),
    keep({ at, source, ...texts }) {
      const rejection = Buffer.from(texts.rejection);
      const message = Buffer.from(texts.message);
      lastId += 1;
      rows.push({ id: lastId, at, source, rejection, message, bytes: rejection.length + message.length });
    },
    trim(maxRows, maxBytes) {
      const staying = new Set(mostOfEachSource(rows.toReversed(), maxRows, maxBytes));
      rows = rows.filter((row) => staying.has(row));
    },
    held: () => ({ rows: rows.length, bytes: rows.reduce((sum, { bytes }) => sum + bytes, 0) }),
    rejections: (limit) =>
      rows
        .toReversed()
        .slice(0, limit)
        .map((row) => ({ ...row, rejection: row.rejection.toString(), message: row.message.toString() })),
    keepForgeries(forgeries) {
      kept = forgeries;
    },
    forgeries: () => kept,
    flush: () => Promise.resolve(),
    close: () => Promise.resolve(),
  };
}
