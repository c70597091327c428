import type { SeenTable } from "./seen-table.ts";

/** A rejection as it is kept. */
export interface RejectionRow {
  readonly id: number;
  readonly at: number;
  readonly source: string | null;
  /** All but the message, as JSON. */
  readonly rejection: string;
  readonly message: string;
}

/** How many rejections there are, and how many bytes of texts. */
export interface Held {
  readonly rows: number;
  readonly bytes: number;
}

/** Where a ledger keeps what it remembers: a file, or memory. */
export interface LedgerRows {
  /** What an earlier version accepted, in its file. */
  readonly seen: SeenTable | undefined;
  /** Does all of what follows, or none of it. */
  inTransaction(work: () => void): void;
  keep(row: Omit<RejectionRow, "id">): void;
  /** Removes all rejections but the most of each source that there is room for: `mostOfEachSource()`. */
  trim(maxRows: number, maxBytes: number): void;
  held(): Held;
  /** The newest first. */
  rejections(limit: number): readonly RejectionRow[];
  /** Takes the place of those that were kept before. */
  keepForgeries(forgeries: readonly string[]): void;
  forgeries(): readonly string[];
  /** Resolves when what was written is on the disk. */
  flush(): Promise<void>;
  close(): Promise<void>;
}
