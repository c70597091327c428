import { shareOf } from "./shares.ts";
import type { HeartbeatRow } from "./worker-statements.ts";

/** A worker that has not been heard of for so long claims nothing, so that the others share its part, in milliseconds. */
const SILENT_MS = 2_500;

/** The list of workers, as one of them has last read it. */
export class WorkerList {
  readonly #own: string;
  readonly #rows: readonly HeartbeatRow[];
  /** Ids of those that have a part: asked for with each delivery. */
  readonly #delivering: readonly string[];

  constructor(own: string, rows: readonly HeartbeatRow[] = []) {
    this.#own = own;
    this.#rows = rows;
    this.#delivering = rows.filter((row) => row.delivers && this.#isLive(row)).map(({ id }) => id);
  }

  /** Whether other processes have the store open. */
  get hasOthers(): boolean {
    return this.#rows.length > 1;
  }

  /** Whether any process delivers. */
  get isDelivering(): boolean {
    return this.#rows.some((row) => row.delivers && !row.is_over);
  }

  /** This worker's part of a destination's concurrency. */
  share(concurrency: number, key: string): number {
    return shareOf(concurrency, key, this.#own, this.#delivering);
  }

  /** Whether nobody still has to leave a part of the concurrency to this worker, which came with version `joined`. */
  leavesRoom(joined: number): boolean {
    return !this.#rows.some((row) => {
      if (row.id === this.#own || !row.delivers || !this.#isLive(row)) return false;
      return row.joined <= joined && row.seen < joined;
    });
  }

  /** Who has a part: two lists of the same text divide the same. */
  get parts(): string {
    return this.#delivering.join(" ");
  }

  #isLive({ id, silent_ms: silentMs }: HeartbeatRow): boolean {
    return id === this.#own || silentMs < SILENT_MS;
  }
}
