import { buildMessage } from "../calls/build-message.ts";
import { CallError } from "../calls/call-error.ts";
import type { CallOptions } from "../calls/calls.ts";
import { snakeCase, type TraitChange } from "../profiles/trait-diff.ts";
import type { SkipReason } from "./sender.ts";
import type { Source } from "../settings/parse-settings.ts";
import type { Acceptance, DeliveryStore, NewDelivery, NewMessage } from "../store/delivery-store.ts";
import type { CallIntake } from "./call-intake.ts";

/** What a sync has to store, and what it came to. */
export interface ProfileSync {
  readonly acceptance: Acceptance;
  readonly changed: readonly string[];
  readonly removed: readonly string[];
  readonly skipped?: SkipReason | undefined;
}

/** Finds the changes, given what is known of the trait: JSON text by user. */
export type FindChanges = (known: ReadonlyMap<string, string>) => readonly TraitChange[];

/** Syncs audiences and computed traits, one after another for each trait. */
export class ProfileSyncer {
  readonly #intake: CallIntake;
  readonly #store: DeliveryStore;
  readonly #accept: (acceptance: Acceptance) => Promise<void>;
  readonly #running = new Map<string, Promise<unknown>>();

  constructor(intake: CallIntake, store: DeliveryStore, accept: (acceptance: Acceptance) => Promise<void>) {
    this.#intake = intake;
    this.#store = store;
    this.#accept = accept;
  }

  /** @throws CallError when the name or a user is not valid */
  sync(kind: string, name: string, options: CallOptions, findChanges: FindChanges): Promise<ProfileSync> {
    const source = this.#intake.sourceOf(options);
    const trait = typeof name === "string" ? snakeCase(name) : "";
    if (trait === "") {
      throw new CallError("ERR_FIELD_INVALID", `${kind} needs a name with at least one letter or digit.`, {
        field: "name",
      });
    }
    // What is known of a trait must not change between reading it and storing the changes.
    const key = `${source.name}/${trait}`;
    const run = (): Promise<ProfileSync> => this.#run(source, trait, findChanges);
    const result = (this.#running.get(key) ?? Promise.resolve()).then(run, run);
    this.#running.set(key, result);
    const forget = (): void => {
      if (this.#running.get(key) === result) this.#running.delete(key);
    };
    result.then(forget, forget);
    return result;
  }

  async #run(source: Source, trait: string, findChanges: FindChanges): Promise<ProfileSync> {
    if (!source.destinations.some(({ enabled }) => enabled)) {
      // What reaches nobody is not known by anybody: the first sync with a destination sends it all.
      return {
        acceptance: { messages: [], deliveries: [] },
        changed: [],
        removed: [],
        skipped: "no_destination",
      };
    }
    const changes = findChanges(await this.#store.traits(source.name, trait));
    const acceptance = this.#acceptanceOf(source, trait, changes);
    await this.#accept(acceptance);
    return {
      acceptance,
      changed: changes.filter(({ stored }) => stored !== null).map(({ userId }) => userId),
      removed: changes.filter(({ stored }) => stored === null).map(({ userId }) => userId),
    };
  }

  /** One Identify for each change, and the changes themselves: stored together, so that neither is without the other. */
  #acceptanceOf(source: Source, trait: string, changes: readonly TraitChange[]): Acceptance {
    const messages: NewMessage[] = [];
    const deliveries: NewDelivery[] = [];
    for (const { userId, value } of changes) {
      const call = { userId, traits: { [trait]: value } };
      const built = buildMessage("identify", call, this.#intake.defaults());
      const stored = this.#intake.deliver(source, built, messages.length);
      messages.push(stored.message);
      deliveries.push(...stored.deliveries);
    }
    const values = new Map(changes.map(({ userId, stored }) => [userId, stored]));
    return { messages, deliveries, traits: { source: source.name, trait, values } };
  }
}
