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
      const known = this.#byRoot.get(root);
      if (known === undefined) this.#byRoot.set(root, [copy]);
      else known.push(copy);
    }
  }

  /** The copies of what a delivery is a copy of, the newest first, and the id of the next one. */
  of(delivery: Known): { readonly copies: readonly DeliverySummary[]; readonly nextId: string } {
    const root = this.#rootOf(delivery);
    const copies = this.#byRoot.get(root) ?? [];
    let number = 0;
    for (const { id } of copies) number = Math.max(number, Number(COPY.exec(id)?.[1] ?? 0));
    return { copies, nextId: `r${number + 1}-${root}` };
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
    // A caller may use the id of a delivery that is gone for a copy of its copy: then there is a circle.
    for (let steps = 0; steps < this.#originals.size; steps += 1) {
      const known = this.#originals.get(root);
      if (known === undefined) break;
      root = known;
    }
    // Older copies may be gone.
    root = root.replace(COPY, "");
    return root.length > LONGEST_ROOT ? hash("sha256", root, "base64url") : root;
  }
}
