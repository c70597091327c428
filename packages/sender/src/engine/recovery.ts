import { setImmediate as nextTurn } from "node:timers/promises";
import { isMessageId, isObject, parseJson } from "@countersign/protocol";
import { cursorOf } from "../delivery/cursor.ts";
import { type DeliveryFilter, valuesOf } from "../delivery/delivery-filter.ts";
import {
  type Delivery,
  type DeliveryInfo,
  type DeliverySummary,
  END_STATES,
  MESSAGE_TYPES,
} from "../delivery/delivery.ts";
import type { DeliveryStore, NewMessageContent, NextDelivery } from "../store/delivery-store.ts";
import { isUnknown, StoreError } from "../store/store-error.ts";
import type { Acceptor } from "./acceptor.ts";
import type { CallIntake } from "./call-intake.ts";
import { Copies, hasFailed } from "./copies.ts";
import type { ResendAll, ResendOptions } from "./resend-options.ts";
import type { RetriedAll, RetryAll } from "./retry-options.ts";
import type { Receipt } from "./sender.ts";
import { checkBulkFilter } from "./check-filter.ts";
import { checkResendOptions, checkRetryAll } from "./check-options.ts";

/** The parts that a recovery uses. */
interface RecoveryParts {
  readonly store: DeliveryStore;
  readonly acceptor: Acceptor;
  readonly intake: Pick<CallIntake, "newId" | "now" | "enabled">;
}

/** Deliveries sent again in one go, so that calls are accepted in between. */
const PAGE = 100;

/** Copies of a page that are read in one go. */
const COPIES_AT_ONCE = 1_000;

/** Deliveries made due in one go. */
const HASTENED_AT_ONCE = 1_000;

/** Deliveries removed in one go. */
const REMOVED_AT_ONCE = 1_000;

/** Sends deliveries again, tries waiting ones now, and removes ended ones. */
export class Recovery {
  readonly #parts: RecoveryParts;

  constructor(parts: RecoveryParts) {
    this.#parts = parts;
  }

  /**
   * Sends one delivery again.
   *
   * @throws RangeError when the store does not keep it
   */
  async resend(id: string, options: ResendOptions): Promise<Receipt> {
    checkResendOptions(options);
    const { store, acceptor, intake } = this.#parts;
    const { newId, now } = intake;
    const original = await store.find(id);
    const message =
      original && options.body !== undefined ? changedMessage(options.body, original) : undefined;
    // One that waits may fail, and is then left out by its copies.
    const isCopy = original !== undefined && message === undefined && original.state !== "delivered";
    const nextId = options.id ?? (isCopy ? (await this.#copiesOf([original])).of(original).nextId : newId());
    if (original !== undefined && options.id !== undefined) await this.#assertFree(options.id);
    const next = { id: nextId, acceptedAt: now(), message };
    const repeat = (from: Delivery): Promise<boolean> =>
      // An id of the caller may be in use: for other bytes, too.
      options.id === undefined ? this.#store(from, next) : acceptor.repeat(from, next);
    if (original === undefined || !(await repeat(original))) {
      throw new RangeError(
        `resend(): no delivery ${JSON.stringify(id)} in the store. Ended deliveries are kept for \`keepFor\`.`,
      );
    }
    return acceptor.receipt(original.source, message?.messageId ?? original.messageId, [next.id]);
  }

  /**
   * Sends each delivery again that matches and was accepted before now, once. One that failed is left out if a copy of it was
   * delivered or waits: a message that is resent until it arrives must arrive once.
   */
  async resendAll({ filter, onProgress, signal }: ResendAll): Promise<{ readonly resent: number }> {
    checkBulkFilter("resend", filter);
    if (Object.values(filter).every((value) => value === undefined)) {
      throw new TypeError(
        'resend({ filter }) needs at least one field, such as { state: ["failed", "expired"] }: without any it would send everything again.',
      );
    }
    const { store, intake } = this.#parts;
    const { newId, now } = intake;
    const startedAt = now();
    const until = Math.min(filter.until ?? Number.POSITIVE_INFINITY, startedAt + 1);
    const matched = await store.count({ ...filter, until });
    // New deliveries, those of this run too, stand before it in the list.
    let after = cursorOf({ acceptedAt: startedAt, id: newId() });
    const taken = new Set<string>();
    let [resent, leftOut] = [0, 0];
    for (;;) {
      signal?.throwIfAborted();
      const page = await store.list({ ...filter, after, limit: PAGE });
      const copies = await this.#copiesOf(page.filter(hasFailed));
      const wanted = page.filter((delivery) => !hasFailed(delivery) || copies.isNeeded(delivery, taken));
      leftOut += page.length - wanted.length;
      const repeated = await Promise.all(
        wanted.map((delivery) =>
          this.#store(delivery, {
            id: hasFailed(delivery) ? copies.of(delivery).nextId : newId(),
            // A clock that is set back makes no delivery that is older than the run.
            acceptedAt: Math.max(now(), startedAt),
          }),
        ),
      );
      resent += repeated.filter(Boolean).length;
      const last = page.length < PAGE ? undefined : page.at(-1);
      // Some of those counted at first are not in the list: what was removed meanwhile, and copies of this millisecond.
      onProgress?.({ resent, matched: last === undefined ? resent : Math.max(matched - leftOut, resent) });
      if (last === undefined) return { resent };
      after = cursorOf(last);
    }
  }

  /** Makes every delivery due that matches and waits for a later time, the oldest first. */
  async retryAll(what: RetryAll): Promise<RetriedAll> {
    checkRetryAll(what);
    const { filter, limit = Number.POSITIVE_INFINITY } = what;
    checkBulkFilter("retry", filter);
    if (filter.state !== undefined && !valuesOf<string>(filter.state).includes("pending")) {
      throw new TypeError(
        "retry() tries deliveries that wait; all of them are pending. resend({ filter }) sends those again that have ended.",
      );
    }
    const { store, intake } = this.#parts;
    const startedAt = intake.now();
    const pending = { ...filter, state: "pending" } as const;
    // By the store and not by the clock: what was accepted before the clock was set back waits for longest.
    const [newest] = await store.list({ ...pending, limit: 1 });
    if (newest === undefined) return { retried: 0, waiting: 0 };
    const wanted = { ...pending, until: newest.acceptedAt + 1, limit: HASTENED_AT_ONCE };
    let [retried, waiting] = [0, 0];
    let after: string | undefined;
    while (retried < limit) {
      const page = await store.list({ ...wanted, after }, "oldest first");
      const now = intake.now();
      // Each is looked at once, so that one that is tried meanwhile, and fails, is not tried again.
      const room = limit - retried;
      const later = page.filter(({ dueAt = now }) => dueAt > now).slice(0, room);
      // With one time for all, they start in the order of the list, however many there are.
      const served = new Set(intake.enabled);
      const held = later.filter(({ destination }) => !served.has(destination));
      const tried = later.filter(({ destination }) => served.has(destination));
      if (tried.length > 0) retried += await store.hastenAll(tried, startedAt);
      // Apart, so that one that somebody else makes due meanwhile is in neither number.
      const hastened = held.length > 0 ? await store.hastenAll(held, startedAt) : 0;
      retried += hastened;
      waiting += hastened;
      const last = (later.length < room ? page : later).at(-1);
      if (last === undefined) break;
      after = cursorOf(last);
      // A store in this process may have answered at once.
      await nextTurn();
    }
    return { retried, waiting };
  }

  /** Removes ended deliveries that match and were accepted before now. */
  async clear(filter: DeliveryFilter): Promise<number> {
    checkBulkFilter("clear", filter);
    if (filter.state !== undefined && valuesOf<string>(filter.state).includes("pending")) {
      throw new TypeError("clear() removes deliveries that have ended; none of them is pending.");
    }
    const { store, intake } = this.#parts;
    const until = Math.min(filter.until ?? Number.POSITIVE_INFINITY, intake.now() + 1);
    const wanted = { ...filter, state: filter.state ?? END_STATES, until, limit: REMOVED_AT_ONCE };
    let removed = 0;
    // A copy that one run leaves can go in the next, when what it is a copy of has gone.
    for (let before = -1; before < removed;) {
      before = removed;
      let after: string | undefined;
      for (;;) {
        const [first] = await store.list({ ...wanted, after, limit: 1 });
        const more = first?.resendOf === undefined ? await store.remove({ ...wanted, after }) : 0;
        removed += more;
        if (more > 0) continue;
        // Copies may stay. Their page alone is looked at, and left behind, so that no later removal looks at them again.
        const last = (await store.list({ ...wanted, after })).at(-1);
        if (last === undefined) break;
        removed += await store.remove({ ...wanted, after, since: last.acceptedAt });
        after = cursorOf(last);
      }
    }
    return removed;
  }

  /**
   * Stores that keep each source by itself know an id in their own source alone. One that does not answer keeps nobody from
   * sending what another has.
   *
   * @throws StoreError when any source has a delivery of this id
   */
  async #assertFree(id: string): Promise<void> {
    if ((await this.#parts.store.find(id).catch(() => undefined)) === undefined) return;
    throw new StoreError(
      "ERR_STORE_FAILED",
      `resend({ id }): the store has a delivery ${JSON.stringify(id)} already. Choose another id, or leave it out.`,
    );
  }

  /** Stores a copy, unless somebody else has stored it meanwhile. False when the original is no longer kept. */
  #store(original: DeliveryInfo, copy: NextDelivery): Promise<boolean> {
    const { acceptor, store } = this.#parts;
    return acceptor.repeat(original, copy).catch(async (error: unknown) => {
      // That it is found would say nothing.
      if (isUnknown(error)) throw error;
      const stored = await store.find(copy.id, original.source);
      if (stored?.resendOf === undefined || stored.messageId !== original.messageId) throw error;
      return true;
    });
  }

  /** The copies of these deliveries: all have the id of the message. */
  async #copiesOf(originals: readonly DeliveryInfo[]): Promise<Copies> {
    const copies: DeliverySummary[] = [];
    const source = [...new Set(originals.map((original) => original.source))];
    const messageId = [...new Set(originals.map((original) => original.messageId))];
    let after: string | undefined;
    for (let isWhole = originals.length === 0; !isWhole;) {
      const page = await this.#parts.store.list({ source, messageId, after, limit: COPIES_AT_ONCE });
      copies.push(...page.filter(({ resendOf }) => resendOf !== undefined));
      const last = page.at(-1);
      isWhole = last === undefined || page.length < COPIES_AT_ONCE;
      after = last && cursorOf(last);
    }
    return new Copies(copies);
  }
}

/** The message in a changed body. What the body does not say, or cannot be that, is as in the original. */
function changedMessage(body: Uint8Array | string, original: Delivery): NewMessageContent {
  const bytes = typeof body === "string" ? Buffer.from(body) : Uint8Array.from(body);
  const { type, messageId, userId, anonymousId, event } = fieldsOf(bytes);
  const wanted = MESSAGE_TYPES.find((known) => known === type) ?? original.type;
  const identity = [userId, anonymousId].find((id) => typeof id === "string" && id !== "");
  return {
    messageId: typeof messageId === "string" && isMessageId(messageId) ? messageId : original.messageId,
    type: wanted,
    identity: typeof identity === "string" ? identity : original.identity,
    event: wanted !== "track" ? undefined : typeof event === "string" ? event : original.event,
    body: bytes,
  };
}

function fieldsOf(bytes: Uint8Array): Readonly<Record<string, unknown>> {
  try {
    const value: unknown = parseJson(Buffer.from(bytes).toString());
    return isObject(value) ? value : {};
  } catch {
    return {};
  }
}
