import { hash } from "node:crypto";
import { isObject } from "@countersign/protocol";
import { cursorOf } from "../delivery/cursor.ts";
import { type DeliveryFilter, valuesOf } from "../delivery/delivery-filter.ts";
import {
  type Delivery,
  type DeliveryInfo,
  type DeliverySummary,
  MESSAGE_TYPES,
} from "../delivery/delivery.ts";
import type { DeliveryStore, NewMessageContent } from "../store/delivery-store.ts";
import type { Acceptor } from "./acceptor.ts";
import type { ResendAll, ResendOptions } from "./resend-options.ts";
import { checkBulkFilter } from "./check-filter.ts";
import { checkResendOptions } from "./check-options.ts";

/** The parts that a recovery uses. */
interface RecoveryParts {
  readonly store: DeliveryStore;
  readonly acceptor: Acceptor;
  readonly newId: () => string;
  readonly now: () => number;
}

/** Deliveries sent again in one go, so that calls are accepted in between. */
const PAGE = 100;

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
  async resend(id: string, options: ResendOptions): Promise<Delivery & { readonly newId: string }> {
    checkResendOptions(options);
    const { store, acceptor, newId, now } = this.#parts;
    const original = await store.find(id);
    const message = original && options.body !== undefined ? messageOf(options.body, original) : undefined;
    // One that waits may fail, and is then left out by its copies.
    const isCopy = original !== undefined && message === undefined && original.state !== "delivered";
    const nextId = options.id ?? (isCopy ? (await this.#copies(original)).nextId : newId());
    const next = { id: nextId, acceptedAt: now(), message };
    const repeat = (from: Delivery): Promise<boolean> =>
      // An id of the caller may be in use: for other bytes, too.
      options.id === undefined ? this.#store(from, next) : acceptor.repeat(from, next);
    if (original === undefined || !(await repeat(original))) {
      throw new RangeError(
        `resend(): no delivery ${JSON.stringify(id)} in the store. Ended deliveries are kept for \`keepFor\`.`,
      );
    }
    return { ...original, messageId: message?.messageId ?? original.messageId, newId: next.id };
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
    const { store, newId, now } = this.#parts;
    const startedAt = now();
    const until = Math.min(filter.until ?? Number.POSITIVE_INFINITY, startedAt + 1);
    const matched = await store.count({ ...filter, until });
    // New deliveries, those of this run too, stand before it in the list.
    let after = cursorOf({ acceptedAt: startedAt, id: newId() });
    const taken = new Set<string>();
    let resent = 0;
    for (;;) {
      signal?.throwIfAborted();
      const page = await store.list({ ...filter, after, limit: PAGE });
      const repeated = await Promise.all(page.map((delivery) => this.#repeat(delivery, startedAt, taken)));
      resent += repeated.filter(Boolean).length;
      onProgress?.({ resent, matched: Math.max(matched, resent) });
      const last = page.at(-1);
      if (last === undefined || page.length < PAGE) return { resent };
      after = cursorOf(last);
    }
  }

  /** Removes ended deliveries that match and were accepted before now. */
  async clear(filter: DeliveryFilter): Promise<number> {
    checkBulkFilter("clear", filter);
    if (filter.state !== undefined && valuesOf<string>(filter.state).includes("pending")) {
      throw new TypeError("clear() removes deliveries that have ended; none of them is pending.");
    }
    const { store, now } = this.#parts;
    const until = Math.min(filter.until ?? Number.POSITIVE_INFINITY, now() + 1);
    let removed = 0;
    for (;;) {
      const more = await store.remove({ ...filter, until, limit: REMOVED_AT_ONCE });
      removed += more;
      if (more === 0) return removed;
    }
  }

  /** False when the store no longer keeps it, or one of its copies was delivered, waits or is of this run. */
  async #repeat(original: DeliverySummary, startedAt: number, taken: Set<string>): Promise<boolean> {
    const { newId, now } = this.#parts;
    let id = newId();
    if (hasFailed(original)) {
      const root = rootOf(original.id);
      if (taken.has(root)) return false;
      // Older copies follow in the list, then the original. After an original comes no other.
      if (COPY.test(original.id)) taken.add(root);
      const { nextId, last } = await this.#copies(original);
      if (last !== undefined && !hasFailed(last)) return false;
      id = nextId;
    }
    // A clock that is set back makes no delivery that is older than the run.
    return this.#store(original, { id, acceptedAt: Math.max(now(), startedAt) });
  }

  /** Stores a copy, unless it was stored by somebody else meanwhile. False when the original is no longer kept. */
  #store(original: DeliveryInfo, copy: Parameters<DeliveryStore["repeat"]>[1]): Promise<boolean> {
    const { acceptor, store } = this.#parts;
    return acceptor.repeat(original, copy).catch(async (error: unknown) => {
      if (isCopyOf(original.id, await store.find(copy.id, original.source))) return true;
      throw error;
    });
  }

  /** The last copy of a delivery that is kept, and the id of the next one. */
  async #copies({ id, source }: DeliveryInfo): Promise<{ nextId: string; last: Delivery | undefined }> {
    const root = rootOf(id);
    let last: Delivery | undefined;
    for (let number = Number(COPY.exec(id)?.[1] ?? 0) + 1; ; number += 1) {
      const nextId = `r${number}-${root}`;
      const copy = await this.#parts.store.find(nextId, source);
      if (copy === undefined) return { nextId, last };
      if (isCopyOf(id, copy)) last = copy;
    }
  }
}

/**
 * The id of a copy is made of a number and the id of the original. So copies are found without an index of their own, and two
 * processes that send one delivery again at the same time store one copy. Every id that a sender makes otherwise comes before it in
 * the order of ids.
 */
const COPY = /^r(\d{1,7})-/u;

/** A longer id stands there as its hash, so that no id of a copy is longer than one of a caller. */
const LONGEST_ROOT = 90;

function rootOf(id: string): string {
  const root = id.replace(COPY, "");
  return root.length > LONGEST_ROOT ? hash("sha256", root, "base64url") : root;
}

/** A caller may have given an id of this form to something else. */
function isCopyOf(id: string, copy: Delivery | undefined): boolean {
  return copy?.resendOf !== undefined && rootOf(copy.resendOf) === rootOf(id);
}

function hasFailed({ state }: Pick<Delivery, "state">): boolean {
  return state === "failed" || state === "expired";
}

/** What a changed body says of itself; what it does not say is as in the original. */
function messageOf(body: Uint8Array | string, original: Delivery): NewMessageContent {
  const bytes = typeof body === "string" ? Buffer.from(body) : Uint8Array.from(body);
  const { type, messageId, userId, anonymousId, event } = fieldsOf(bytes);
  const wanted = MESSAGE_TYPES.find((known) => known === type) ?? original.type;
  const identity = [userId, anonymousId].find((id) => typeof id === "string" && id !== "");
  return {
    messageId: typeof messageId === "string" && messageId !== "" ? messageId : original.messageId,
    type: wanted,
    identity: typeof identity === "string" ? identity : original.identity,
    event: wanted !== "track" ? undefined : typeof event === "string" ? event : original.event,
    body: bytes,
  };
}

function fieldsOf(bytes: Uint8Array): Readonly<Record<string, unknown>> {
  try {
    const value: unknown = JSON.parse(Buffer.from(bytes).toString());
    return isObject(value) ? value : {};
  } catch {
    return {};
  }
}
