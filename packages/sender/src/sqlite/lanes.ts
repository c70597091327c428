import type { Consumer, DeliveryHandler, StoreContext } from "../store/delivery-store.ts";
import type { DeliveryTable, DueRow } from "./delivery-table.ts";
import { Lane, type LaneOptions } from "./lane.ts";
import { Memory } from "./memory.ts";

/** How much of what is due and waits for a place is kept in memory, by all destinations together. */
const MEMORY_BYTES = 16 * 1024 * 1024;

/** What the lanes of a store have in common. */
type Shared = Pick<LaneOptions, "writes" | "settlements"> & {
  readonly table: DeliveryTable;
  readonly context: Pick<StoreContext, "clock" | "ended" | "failed">;
};

/** A lane for each destination that is served, and when each has something to do. */
export class Lanes {
  readonly #shared: Shared;
  readonly #lanes = new Map<string, Lane>();
  readonly #memory = new Memory(MEMORY_BYTES);
  /** Destinations with something new since they were last asked. */
  readonly #stirred = new Set<string>();
  /** Lanes where a delivery has ended, whose connection is free in the next turn. */
  readonly #freeing = new Set<Lane>();
  /** Lanes of which a settlement was stored in this turn, or could not be. */
  readonly #finishing = new Set<Lane>();
  #turn: NodeJS.Immediate | undefined;

  constructor(shared: Shared) {
    this.#shared = shared;
  }

  consume(destination: string, concurrency: number, handler: DeliveryHandler): Consumer {
    const { context, ...shared } = this.#shared;
    const { clock, ended, failed } = context;
    const freeSoon = (): void => this.#freeSoon(lane);
    const common = { ...shared, clock, ended, failed, memory: this.#memory, finishing: this.#finishing };
    const lane: Lane = new Lane({ destination, concurrency, handler, freeSoon, ...common });
    this.#lanes.set(destination, lane);
    lane.pump();
    return {
      stop: async () => {
        if (this.#lanes.get(destination) === lane) this.#lanes.delete(destination);
        await lane.stop();
      },
    };
  }

  /** A delivery was stored, and is due. */
  offer(row: DueRow): void {
    const { destination } = row.due.delivery;
    this.#stirred.add(destination);
    this.#lanes.get(destination)?.offer(row);
  }

  /** The table has something due at a time, or due later, that the destination's lane does not know of. */
  stir(destination: string, dueAt: number): void {
    this.#stirred.add(destination);
    this.#lanes.get(destination)?.stir(dueAt);
  }

  /** A delivery of the destination is settled. */
  settled(destination: string): void {
    this.#stirred.add(destination);
  }

  /** Whether a delivery was handed over and is not settled yet. */
  isClaimed(destination: string, seq: number): boolean {
    return this.#lanes.get(destination)?.isClaimed(seq) === true;
  }

  /** Everything of a turn is committed: has everything claimed that is due and has room. */
  pump(): void {
    for (const destination of this.#stirred) this.#lanes.get(destination)?.pump();
    this.#stirred.clear();
    for (const lane of this.#finishing) lane.finish();
    this.#finishing.clear();
  }

  /** Resolves when nothing is being delivered any more. */
  async stop(): Promise<void> {
    await Promise.all([...this.#lanes.values()].map((lane) => lane.stop()));
  }

  #freeSoon(lane: Lane): void {
    this.#freeing.add(lane);
    // Anew each time: after whatever makes the connections free of all that have ended in this turn.
    clearImmediate(this.#turn);
    this.#turn = setImmediate(this.#free);
  }

  readonly #free = (): void => {
    for (const lane of this.#freeing) lane.free();
    this.#freeing.clear();
  };
}
