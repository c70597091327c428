import { type NextDelivery, StoreError } from "@countersign/sender/store";
import { mayBeOfOne } from "../database/postgres-error.ts";
import { storeErrorOf } from "../database/store-errors.ts";
import type { DayPartitions } from "../schema/day-partitions.ts";
import { dayOf } from "../schema/names.ts";
import type { Membership } from "../workers/membership.ts";
import type { DeliveryChanges, RepeatedFrom, Repetition } from "../tables/delivery-changes.ts";

/** The most copies, and bytes of changed bodies, that one command stores. */
const AT_ONCE = 500;
const BYTES_AT_ONCE = 4_000_000;

interface Waiting extends Repetition {
  readonly resolve: (from: RepeatedFrom | undefined) => void;
  readonly reject: (error: StoreError) => void;
}

/** Group commit of copies. One by one, each would wait for the disk, and for a lock: they all count in one row. */
export class RepeatQueue {
  readonly #changes: DeliveryChanges;
  readonly #partitions: DayPartitions;
  readonly #membership: Membership;
  readonly #waiting: Waiting[] = [];
  #isRunning = false;

  constructor(changes: DeliveryChanges, partitions: DayPartitions, membership: Membership) {
    this.#changes = changes;
    this.#partitions = partitions;
    this.#membership = membership;
  }

  /** Stores a copy. Resolves to undefined if the original is not kept, and rejects if the id of the copy is in use. */
  add(id: string, next: NextDelivery, source: string): Promise<RepeatedFrom | undefined> {
    return new Promise((resolve, reject) => {
      this.#waiting.push({ id, next, source, resolve, reject });
      if (this.#isRunning) return;
      this.#isRunning = true;
      setImmediate(() => void this.#run());
    });
  }

  async #run(): Promise<void> {
    while (this.#waiting.length > 0) await this.#store(this.#nextGroup());
    this.#isRunning = false;
  }

  async #store(group: readonly Waiting[]): Promise<void> {
    try {
      const days = new Set(group.map(({ next }) => dayOf(next.acceptedAt)));
      const repeat = (): Promise<readonly (RepeatedFrom | undefined)[]> =>
        this.#changes.repeat(group, this.#membership.id);
      const found = await this.#partitions.storing(days, repeat);
      group.forEach(({ next, resolve, reject }, index) => {
        const from = found[index];
        // Another process may have stored this very copy: then that process tells of it.
        if (from?.stored === false) reject(isInUse(next.id));
        else resolve(from);
      });
    } catch (error) {
      // One that cannot be stored must not fail the rest.
      if (group.length > 1 && mayBeOfOne(error)) {
        for (const one of group) await this.#store([one]);
      } else {
        for (const { reject } of group) reject(storeErrorOf(error));
      }
    }
  }

  #nextGroup(): readonly Waiting[] {
    const ids = new Set<string>();
    let bytes = 0;
    for (const { next } of this.#waiting) {
      bytes += next.message?.body.length ?? 0;
      if (ids.size === AT_ONCE || (ids.size > 0 && bytes > BYTES_AT_ONCE) || ids.has(next.id)) break;
      ids.add(next.id);
    }
    return this.#waiting.splice(0, ids.size);
  }
}

function isInUse(id: string): StoreError {
  return new StoreError(
    "ERR_STORE_FAILED",
    `A delivery with the id ${JSON.stringify(id)} is stored already.`,
  );
}
