import type { HeartbeatRow } from "./worker-statements.ts";

interface Suspect {
  readonly leaseUntil: number;
  readonly seenAt: number;
}

/**
 * Workers whose lease is over. It counts only when it is seen twice: after the database itself stood still, every lease is
 * over, and every worker deserves the time to say that it lives.
 */
export class Suspects {
  readonly #pauseMs: number;
  readonly #suspects = new Map<string, Suspect>();

  /** @param pauseMs How much time must be between the two. */
  constructor(pauseMs: number) {
    this.#pauseMs = pauseMs;
  }

  /** Those that were seen twice. */
  confirm(rows: readonly HeartbeatRow[], now: number): readonly HeartbeatRow[] {
    return rows.filter((row) => {
      const { id, is_over: isOver, lease_until: leaseUntil } = row;
      const suspect = this.#suspects.get(id);
      if (!isOver) {
        this.#suspects.delete(id);
        return false;
      }
      if (suspect?.leaseUntil !== leaseUntil) {
        this.#suspects.set(id, { leaseUntil, seenAt: now });
        return false;
      }
      if (now - suspect.seenAt < this.#pauseMs) return false;
      this.#suspects.delete(id);
      return true;
    });
  }
}
