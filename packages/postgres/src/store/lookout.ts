import type { Connections } from "../database/connections.ts";
import type { Dispatcher } from "../delivery/dispatcher.ts";
import type { Bulletin } from "../workers/bulletin.ts";
import type { Membership } from "../workers/membership.ts";

/** How often the database is asked for what no notice has told: with notices, and without. */
const [ASK_MS, ASK_WITHOUT_NOTICES_MS] = [10_000, 1_000];

/** The parts of the store that a lookout uses. */
export interface LookoutOptions {
  readonly connections: Connections;
  readonly dispatcher: Dispatcher;
  readonly bulletin: Bulletin;
  readonly membership: Membership;
  /** Something may have happened that no notice has told. */
  readonly missed: () => void;
  readonly failed: (error: unknown) => void;
}

/** Asks the database, at heartbeats, for what no notice has told: notices are hints, and answers of commands can be lost. */
export class Lookout {
  readonly #options: LookoutOptions;
  #askedAt = Number.NEGATIVE_INFINITY;

  constructor(options: LookoutOptions) {
    this.#options = options;
  }

  /** Asks, if it is time, or if the answer of a command was lost. */
  look(): void {
    const { connections, dispatcher, bulletin, membership, missed, failed } = this.#options;
    const now = performance.now();
    const { lostUntil } = connections;
    // Nobody has heard of what a command stored whose answer was lost.
    const isLost = this.#askedAt < lostUntil && lostUntil <= now;
    if (isLost) bulletin.tell({ missed: true });
    const every = bulletin.hears ? ASK_MS : ASK_WITHOUT_NOTICES_MS;
    if (!isLost && now - this.#askedAt < every) return;
    this.#askedAt = now;
    void bulletin.check();
    dispatcher.peek().catch((error: unknown) => {
      // The next heartbeat asks again.
      this.#askedAt = Number.NEGATIVE_INFINITY;
      failed(error);
    });
    if (!bulletin.hears && membership.hasOthers) missed();
  }
}
