import type { Consumer, DeliveryHandler } from "../store/delivery-store.ts";
import { Lane, type LaneParts } from "./lane.ts";
import { WaitingBudget } from "./waiting-budget.ts";

/** How much memory may be taken by deliveries that are due and wait for a place, of all destinations together. */
const WAITING_BYTES = 16 * 1024 * 1024;

/** A lane for each destination that is served. */
export class Lanes {
  readonly #parts: LaneParts;
  readonly #lanes = new Map<string, Lane>();
  /** Those that were stopped, and still have deliveries in progress. */
  readonly #leaving = new Set<Lane>();
  /** Those that have something to do once everything of this turn is committed. */
  readonly #stirred = new Set<Lane>();

  constructor(parts: Omit<LaneParts, "budget" | "stirred">) {
    this.#parts = { ...parts, budget: new WaitingBudget(WAITING_BYTES), stirred: this.#stirred };
  }

  consume(destination: string, concurrency: number, handler: DeliveryHandler): Consumer {
    const lane = new Lane(this.#parts, destination, concurrency, handler);
    this.#lanes.set(destination, lane);
    lane.pump();
    return {
      stop: async () => {
        if (this.#lanes.get(destination) === lane) this.#lanes.delete(destination);
        this.#leaving.add(lane);
        await lane.stop();
        this.#leaving.delete(lane);
      },
    };
  }

  /** The lane of a destination, while it is served. */
  of(destination: string): Lane | undefined {
    return this.#lanes.get(destination);
  }

  /** Whether a delivery is being delivered, also by a lane that was stopped meanwhile. */
  isClaimed(destination: string, seq: number): boolean {
    return [this.of(destination), ...this.#leaving].some((lane) => lane?.isClaimed(seq) === true);
  }

  /** Everything of a turn is committed: has everything claimed that is due and has room. */
  pump(): void {
    const stirred = [...this.#stirred];
    this.#stirred.clear();
    for (const lane of stirred) lane.pump();
    for (const lane of stirred) lane.finish();
  }

  /** There may be something due that no lane was told of. */
  lookAgain(): void {
    for (const lane of this.#lanes.values()) lane.stir(Number.MIN_SAFE_INTEGER);
  }

  /** Resolves when nothing is being delivered any more. */
  async stop(): Promise<void> {
    await Promise.all([...this.#lanes.values()].map((lane) => lane.stop()));
  }
}
