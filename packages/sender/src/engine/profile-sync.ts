import { isObject, nameKind } from "@countersign/protocol";
import { buildMessage, record } from "../calls/message.ts";
import { CallError } from "../calls/call-error.ts";
import { audienceChanges, snakeCase, type TraitChange, traitChanges } from "../profiles/trait-diff.ts";
import type { Source } from "../settings/parse-settings.ts";
import type { Acceptance, DeliveryStore } from "../store/delivery-store.ts";
import type { TraitOwner } from "../store/trait-owner.ts";
import { StoreError } from "../store/store-error.ts";
import type { Acceptor } from "./acceptor.ts";
import type { CallIntake, Intake } from "./call-intake.ts";
import { checkCallOptions } from "./check-options.ts";
import type { CallOptions, SyncReceipt } from "./sender.ts";
import type { Waiters } from "./waiters.ts";
import { isWellFormed } from "./well-formed.ts";

/** The parts that a syncer uses. */
interface SyncerParts {
  readonly intake: CallIntake;
  readonly store: Pick<DeliveryStore, "traits">;
  readonly acceptor: Acceptor;
  readonly waiters: Waiters;
}

/** The result of a sync. */
type ProfileSync = Omit<SyncReceipt, "settled">;

/** Finds the changes for a destination, given what it knows of the trait: JSON text by user. */
type FindChanges = (known: ReadonlyMap<string, string>) => readonly TraitChange[];

/** The longest name of an audience or a computed trait: the index of a database has no room for any. */
const MAX_NAME_CHARACTERS = 255;

/** How often what another process changes is read again. One of them always gets on. */
const MOST_RUNS = 50;

const NOTHING: ReadonlyMap<string, string> = new Map();

/** A change, and the destinations that do not know of it yet. */
interface Announcement extends TraitChange {
  readonly destinations: string[];
}

/** Syncs audiences and computed traits, one after another for each trait. */
export class ProfileSyncer {
  readonly #parts: SyncerParts;
  readonly #running = new Map<string, Promise<unknown>>();

  constructor(parts: SyncerParts) {
    this.#parts = parts;
  }

  /**
   * @throws TypeError when `userIds` is not an iterable of texts
   * @throws CallError when the name or a user is not valid, or the name is taken
   */
  async syncAudience(
    name: string,
    userIds: Iterable<string>,
    options: CallOptions = {},
  ): Promise<SyncReceipt> {
    // A text is iterable too, and would be a user for each of its letters.
    if ((!isObject(userIds) && !Array.isArray(userIds)) || !(Symbol.iterator in userIds)) {
      throw new TypeError(
        `syncAudience() takes the members as a list, a Set or another iterable of userIds, not ${nameKind(userIds)}. Pass [] to remove every member.`,
      );
    }
    const members = new Set(userIds);
    return this.#sync({ kind: "audience", name }, options, (known) => audienceChanges(known, members));
  }

  /**
   * @throws TypeError when `values` is neither a Map nor an object
   * @throws CallError when the name or a value is not valid, or the name is taken
   */
  async syncComputedTrait(
    name: string,
    values: ReadonlyMap<string, unknown> | Readonly<Record<string, unknown>>,
    options: CallOptions = {},
  ): Promise<SyncReceipt> {
    if (!isObject(values) || (Symbol.iterator in values && !(values instanceof Map))) {
      throw new TypeError(
        `syncComputedTrait() takes the values as a Map or an object of userId and value, not ${nameKind(values)}.`,
      );
    }
    const byUser = new Map<string, unknown>(values instanceof Map ? values : Object.entries(values));
    return this.#sync({ kind: "computed trait", name }, options, (known) => traitChanges(known, byUser));
  }

  async #sync(owner: TraitOwner, options: CallOptions, findChanges: FindChanges): Promise<SyncReceipt> {
    const { intake, waiters } = this.#parts;
    const method = methodOf(owner);
    checkCallOptions(method, options);
    const source = intake.sourceOf(options);
    const trait = traitOf(owner);
    // What is known of a trait must not change between reading it and storing the changes.
    const key = `${source.name}/${trait}`;
    const run = (): Promise<ProfileSync> =>
      asLongAsItChanges(() => this.#run(source, trait, owner, findChanges));
    const result = (this.#running.get(key) ?? Promise.resolve()).then(run, run);
    this.#running.set(key, result);
    const forget = (): void => {
      if (this.#running.get(key) === result) this.#running.delete(key);
    };
    result.then(forget, forget);
    const sync = await result.finally(waiters.working());
    return { ...sync, settled: () => waiters.settled(sync.deliveries) };
  }

  async #run(
    source: Source,
    trait: string,
    owner: TraitOwner,
    findChanges: FindChanges,
  ): Promise<ProfileSync> {
    // A change without a destination is not remembered: the first sync with a destination sends everything.
    if (source.enabled.length === 0) {
      return { changed: [], removed: [], deliveries: [], skipped: "no_destination" };
    }
    const known = await this.#parts.store.traits(source.name, trait, source.enabled);
    assertOwner(trait, known.owner, owner);
    // Each destination on its own: one that was enabled after the first sync knows nothing yet.
    const byDestination = source.enabled.map((destination) => ({
      destination,
      changes: findChanges(known.values.get(destination) ?? NOTHING),
    }));
    const announcements = announcementsOf(byDestination);
    const acceptance = this.#acceptanceOf(source, trait, owner, announcements);
    const values = new Map(
      byDestination.map(({ destination, changes }) => [
        destination,
        new Map(changes.map(({ userId, stored }) => [userId, stored])),
      ]),
    );
    await this.#parts.acceptor.accept({
      ...acceptance,
      traits: { source: source.name, trait, owner, values, version: known.version },
    });
    return {
      changed: announcements.filter(({ stored }) => stored !== null).map(({ userId }) => userId),
      removed: announcements.filter(({ stored }) => stored === null).map(({ userId }) => userId),
      deliveries: acceptance.deliveries.map(({ id }) => id),
    };
  }

  /** One Identify for each change. They are stored with the changes, so that neither is without the other. */
  #acceptanceOf(
    source: Source,
    trait: string,
    owner: TraitOwner,
    announcements: readonly Announcement[],
  ): Acceptance {
    const gathered: Intake = { calls: [], messages: [], deliveries: [] };
    const { intake } = this.#parts;
    const { newId: messageId, now } = intake;
    for (const { userId, value, destinations } of announcements) {
      assertKeepable(owner, userId);
      const call = record("identify", { userId, traits: { [trait]: value } }, { messageId, now });
      const message = buildMessage(call);
      intake.addCall(gathered, source, message, { counted: false });
      intake.addMessage(gathered, source, message, destinations);
    }
    return gathered;
  }
}

/** Reads again what is known of a trait when another process has changed it meanwhile. */
async function asLongAsItChanges<T>(run: () => Promise<T>): Promise<T> {
  for (let left = MOST_RUNS; ; left -= 1) {
    try {
      return await run();
    } catch (error) {
      if (left <= 1 || !(error instanceof StoreError) || error.code !== "ERR_STORE_CHANGED") throw error;
    }
  }
}

function methodOf({ kind }: TraitOwner): string {
  return kind === "audience" ? "syncAudience" : "syncComputedTrait";
}

/** @throws CallError when the name is none, or no store could tell it from others */
function traitOf(owner: TraitOwner): string {
  const { name } = owner;
  const trait = typeof name === "string" ? snakeCase(name) : "";
  if (trait !== "" && name.length <= MAX_NAME_CHARACTERS && isWellFormed(name)) return trait;
  throw new CallError(
    "ERR_FIELD_INVALID",
    `${methodOf(owner)}() needs a name with at least one letter or digit, of at most ${MAX_NAME_CHARACTERS} characters without lone surrogates.`,
    { field: "name" },
  );
}

/** What is known of a user would be found again as that of another one. @throws CallError */
function assertKeepable(owner: TraitOwner, userId: unknown): void {
  if (typeof userId !== "string" || isWellFormed(userId)) return;
  throw new CallError(
    "ERR_FIELD_INVALID",
    `${methodOf(owner)}(): the userId ${JSON.stringify(userId)} has a lone surrogate, half of a character. Was the text cut?`,
    { field: "userId" },
  );
}

/** Each user's change once. The value to send is the same for every destination that lacks it. */
function announcementsOf(
  byDestination: readonly { readonly destination: string; readonly changes: readonly TraitChange[] }[],
): readonly Announcement[] {
  const byUser = new Map<string, Announcement>();
  for (const { destination, changes } of byDestination) {
    for (const change of changes) {
      const known = byUser.get(change.userId);
      if (known === undefined) byUser.set(change.userId, { ...change, destinations: [destination] });
      else known.destinations.push(destination);
    }
  }
  return [...byUser.values()];
}

/** Two names with one snake_case form would overwrite each other's values. */
function assertOwner(trait: string, owner: TraitOwner | undefined, wanted: TraitOwner): void {
  if (owner === undefined || (owner.kind === wanted.kind && owner.name === wanted.name)) return;
  throw new CallError(
    "ERR_NAME_TAKEN",
    `${methodOf(wanted)}(${JSON.stringify(wanted.name)}): its trait ${trait} belongs to the ${owner.kind} ${JSON.stringify(owner.name)}. Choose another name.`,
    { field: "name" },
  );
}
