import type { Bulletin } from "./bulletin.ts";
import type { Membership } from "./membership.ts";

const DEAF =
  "Notifications do not arrive, as behind a pooler in transaction mode. The store asks once a second instead, so that deliveries may start a second late. Connect directly, or through a pooler in session mode.";

const NOBODY =
  "No process delivers the calls that are accepted here. Run countersign work on this store, or a server without --no-deliver.";

/** What an operator is to know of a store that can be used: it could work better, or nothing is sent. */
export class Remarks {
  readonly #membership: Membership;
  readonly #bulletin: Bulletin;
  readonly #leaseMs: number;
  /** Since when something waits for a process that delivers, and there is none, by `performance.now()`. */
  #waitsSince: number | undefined;

  constructor(membership: Membership, bulletin: Bulletin, leaseMs: number) {
    this.#membership = membership;
    this.#bulletin = bulletin;
    this.#leaseMs = leaseMs;
  }

  /** Something was stored that this process does not deliver. */
  somethingWaits(): void {
    this.#waitsSince ??= performance.now();
  }

  current(): string | undefined {
    if (this.#membership.isDelivering) this.#waitsSince = undefined;
    const since = this.#waitsSince ?? Number.POSITIVE_INFINITY;
    if (performance.now() - since > this.#leaseMs) return NOBODY;
    return this.#bulletin.isDeaf ? DEAF : undefined;
  }
}
