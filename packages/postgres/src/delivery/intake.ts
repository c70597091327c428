import {
  type Acceptance,
  type Accepted,
  acceptParts,
  splitAcceptance,
  StoreError,
  type TraitChanges,
} from "@countersign/sender/store";
import { isUnknown } from "../database/postgres-error.ts";
import { storeErrorOf } from "../database/store-errors.ts";
import { dayOf } from "../schema/names.ts";
import { acceptSql } from "../tables/accept-statement.ts";
import { acceptValues } from "../tables/accept-values.ts";
import { changeTrait } from "../tables/trait-table.ts";
import { AcceptQueue, type AcceptQueueOptions } from "./accept-queue.ts";
import { splitBySize } from "./split-by-size.ts";

/** Stores acceptances: those of several sources apart, and those with traits in one transaction with the traits. */
export class Intake {
  readonly #options: AcceptQueueOptions;
  readonly #queue: AcceptQueue;

  constructor(options: AcceptQueueOptions) {
    this.#options = options;
    this.#queue = new AcceptQueue(options);
  }

  accept(acceptance: Acceptance): Promise<Accepted> {
    const { calls, traits } = acceptance;
    if (traits !== undefined) return this.#acceptWithTraits(acceptance, traits);
    const [first] = calls;
    if (first === undefined) return Promise.resolve({ repeats: [] });
    if (calls.every(({ source }) => source === first.source))
      return this.#queue.add(first.source, acceptance);
    return this.#acceptBySource(acceptance);
  }

  /** No transaction spans two sources, since they may be kept on different machines. */
  async #acceptBySource(acceptance: Acceptance): Promise<Accepted> {
    const parts = splitAcceptance(acceptance, (source) => source);
    return acceptParts(parts, (part) => this.#queue.add(part.key, part.acceptance));
  }

  async #acceptWithTraits(acceptance: Acceptance, traits: TraitChanges): Promise<Accepted> {
    const { connections, names, partitions, membership, dispatcher } = this.#options;
    const days = new Set(acceptance.messages.map(({ acceptedAt }) => dayOf(acceptedAt)));
    const { id: worker, epoch } = membership;
    const nothing = { ownRepeats: new Set<number>(), claims: new Set<string>() };
    const sql = acceptSql(names);
    const store = (): Promise<void> =>
      connections.transaction("work", async (run) => {
        await changeTrait(run, names, traits);
        for (const { acceptance: part } of splitBySize(acceptance)) {
          const entry = { acceptance: part, ...nothing };
          await run(sql, acceptValues(traits.source, [entry], { worker, epoch, claim: 0 }, undefined));
        }
      });
    try {
      await partitions.storing(days, store);
    } catch (error) {
      throw isUnknown(error) ? unknownTraits(error) : storeErrorOf(error);
    }
    const destinations = new Set(acceptance.deliveries.map(({ destination }) => destination));
    dispatcher.stirEverywhere([...destinations]);
    return { repeats: [] };
  }
}

/** Why it is not known whether a sync was stored. The sync reads the trait again: its version tells. */
function unknownTraits(cause: unknown): StoreError {
  return new StoreError(
    "ERR_STORE_CHANGED",
    "The connection to the database broke before it answered, so whether the sync was stored is not known. Read what is known of the trait again.",
    cause,
  );
}
