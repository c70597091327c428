import { hash } from "node:crypto";
import type { Delivery, DeliverySummary } from "../delivery/delivery.ts";

type Known = Pick<Delivery, "id" | "resendOf">;

/**
 * The id of a copy is made of a number and the id of the original, so two processes that send one delivery again at the same time
 * store one copy. Every id that a sender makes otherwise comes before it in the order of ids.
 */
const COPY = /^r(\d{1,7})-/u;

/** A longer id stands there as its hash, so that no id of a copy is longer than one of a caller. */
const LONGEST_ROOT = 90;

/** Whether a delivery has ended without having arrived. */
export function hasFailed({ state }: Pick<Delivery, "state">): boolean {
  return state === "failed" || state === "expired";
}

/** What was sent again, to tell what need not be sent once more. */
export class Copies {
  readonly #byRoot = new Map<string, DeliverySummary[]>();
  /** What each copy is a copy of. */
  readonly #originals: ReadonlyMap<string, string>;

  /** @param copies All copies of some deliveries, the newest first. */
  constructor(copies: readonly DeliverySummary[]) {
    this.#originals = new Map(copies.map(({ id, resendOf = "" }) => [id, resendOf]));
    for (const copy of copies) {
      const root = this.#rootOf(copy);
      this.#byRoot.set(root, [...(this.#byRoot.get(root) ?? []), copy]);
    }
  }

  /** The copies of what a delivery is a copy of, the newest first, and the id of the next one. */
  of(delivery: Known): { readonly copies: readonly DeliverySummary[]; readonly nextId: string } {
    const root = this.#rootOf(delivery);
    const copies = this.#byRoot.get(root) ?? [];
    const numbers = copies.map(({ id }) => Number(COPY.exec(id)?.[1] ?? 0));
    return { copies, nextId: `r${Math.max(0, ...numbers) + 1}-${root}` };
  }

  /**
   * Whether a delivery that has failed must be sent again: no copy was delivered or waits.
   *
   * @param taken What of this run is not to be sent twice. In a list, the newest first, the copies of a delivery come before it.
   */
  isNeeded(delivery: Known, taken: Set<string>): boolean {
    const root = this.#rootOf(delivery);
    if (taken.has(root)) return false;
    if (delivery.resendOf !== undefined) taken.add(root);
    return this.of(delivery).copies.every(hasFailed);
  }

  #rootOf({ id, resendOf }: Known): string {
    let root = resendOf ?? id;
    for (let known = this.#originals.get(root); known !== undefined; known = this.#originals.get(root))
      root = known;
    // Older copies may be gone.
    root = root.replace(COPY, "");
    return root.length > LONGEST_ROOT ? hash("sha256", root, "base64url") : root;
  }
}
