import { encodeText } from "../database/text.ts";
import type { Membership } from "../workers/membership.ts";
import type { KnownClaim } from "../workers/worker-table.ts";
import type { Lane } from "./lane.ts";

/** A lane for each destination that this process serves. */
export class Lanes {
  readonly #membership: Membership;
  readonly #lanes = new Map<string, Lane>();
  /** Those that were stopped, and still have deliveries in progress. */
  readonly #leaving = new Set<Lane>();

  constructor(membership: Membership) {
    this.#membership = membership;
  }

  add(lane: Lane): void {
    this.#lanes.set(lane.options.destination, lane);
  }

  /** The lane of a destination, while it is served. */
  of(destination: string): Lane | undefined {
    return this.#lanes.get(destination);
  }

  /** Those of all destinations that are served. */
  all(): readonly Lane[] {
    return [...this.#lanes.values()];
  }

  /** Its destination is not served any more. Until `stopped` has resolved, what it has claimed is known. */
  async leave(lane: Lane, stopped: Promise<void>): Promise<void> {
    const { destination } = lane.options;
    if (this.#lanes.get(destination) === lane) this.#lanes.delete(destination);
    this.#leaving.add(lane);
    await stopped;
    this.#leaving.delete(lane);
  }

  /** This worker's part of a lane's concurrency. */
  shareOf({ options }: Lane): number {
    return this.#membership.share(options.concurrency, options.destination);
  }

  /** Whether no lane has more under way than its share, also of those that were stopped. */
  isWithinShares(): boolean {
    return this.#withLeaving().every((lane) => lane.delivering <= this.shareOf(lane));
  }

  /** The claims that this process knows of. A claim whose answer was lost has another number, and is not among them. */
  claimed(): readonly KnownClaim[] {
    return this.#withLeaving().flatMap(({ inFlight }) =>
      inFlight.items().map(({ due, claim }) => ({ id: encodeText(due.delivery.id), claim })),
    );
  }

  #withLeaving(): readonly Lane[] {
    return [...this.all(), ...this.#leaving];
  }
}
