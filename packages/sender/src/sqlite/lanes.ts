import type { Consumer, DeliveryHandler } from "../store/delivery-store.ts";
import { Lane, type LaneParts } from "./lane.ts";
import { WaitingBudget } from "./waiting-budget.ts";

/** How much memory may be taken by deliveries that are due and wait for a place, of all destinations together. */
const WAITING_BYTES = 16 * 1024 * 1024;

/** A lane for each destination that is served. */
export class Lanes {
  readonly #parts: LaneParts;
  readonly #lanes = new Map<string, Lane>();
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
        await lane.stop();
        // Until then it knows what is being delivered.
        if (this.#lanes.get(destination) === lane) this.#lanes.delete(destination);
      },
    };
  }

  /** The lane of a destination, while it is served, and until what it has handed over is settled. */
  of(destination: string): Lane | undefined {
    return this.#lanes.get(destination);
  }

  /** Everything of a turn is committed: has everything claimed that is due and has room. */
  pump(): void {
    const stirred = [...this.#stirred];
    this.#stirred.clear();
    for (const lane of stirred) lane.pump();
    for (const lane of stirred) lane.finish();
  }

  /** Resolves when nothing is being delivered any more. */
  async stop(): Promise<void> {
    await Promise.all([...this.#lanes.values()].map((lane) => lane.stop()));
  }
}
