import type Database from "libsql";
import type { StoreSpace } from "../store/delivery-store.ts";
import { StoreError } from "../store/store-error.ts";
import type { DeliveryCount } from "./delivery-counter.ts";
import type { Retention } from "./retention.ts";

/** SQLite's, unless a file says otherwise. */
const PAGE_BYTES = 4096;

/** The part of a limited file that calls may fill. The rest is for recording how they end. */
const SHARE_OF_CALLS = 0.8;

/** The part beyond which nothing may be recorded that makes the file grow. */
const SHARE_OF_LOG = 0.9;

/** `ample`: calls are accepted. `short`: they are refused. `none`: the file should not grow at all. */
export type RoomLeft = "ample" | "short" | "none";

/** How much room a file has that may only grow to a size. */
export class FileRoom {
  /** How much there was when it was last made. */
  left: RoomLeft = "ample";
  readonly #path: string;
  readonly #maxPages: number;
  readonly #pages: Database.Statement;
  readonly #freePages: Database.Statement;

  constructor(db: Database.Database, path: string, maxBytes: number) {
    const maxPages = Math.floor(maxBytes / PAGE_BYTES);
    db.exec(`PRAGMA max_page_count = ${maxPages}`);
    this.#path = path;
    this.#maxPages = maxPages;
    this.#pages = db.prepare("PRAGMA page_count").raw();
    this.#freePages = db.prepare("PRAGMA freelist_count").raw();
    this.#measure();
  }

  /** Has what ended first removed until there is room or nothing more to remove; returns what deliveries were removed. */
  make(retention: Retention): readonly DeliveryCount[] {
    const removed: DeliveryCount[] = [];
    while (this.#measure() !== "ample") {
      const few = retention.removeOldest();
      if (few === undefined) break;
      removed.push(...few);
    }
    return removed;
  }

  /** How much of it is taken. Both are in the header of the file: nothing is counted. */
  space(): StoreSpace {
    return { usedBytes: this.#usedPages() * PAGE_BYTES, limitBytes: this.#maxPages * PAGE_BYTES };
  }

  #usedPages(): number {
    return numberOf(this.#pages) - numberOf(this.#freePages);
  }

  #measure(): RoomLeft {
    const share = this.#usedPages() / this.#maxPages;
    this.left = share <= SHARE_OF_CALLS ? "ample" : share <= SHARE_OF_LOG ? "short" : "none";
    return this.left;
  }

  /** @throws StoreError when calls had filled their part when room was last made */
  assertRoom(): void {
    if (this.left === "ample") return;
    throw new StoreError(
      "ERR_STORE_FULL",
      `The store ${this.#path} is full of pending deliveries. Wait until some have ended, or raise maxBytes.`,
    );
  }
}

function numberOf(pragma: Database.Statement): number {
  const row: unknown = pragma.get([]);
  return Array.isArray(row) ? Number(row[0]) : 0;
}
