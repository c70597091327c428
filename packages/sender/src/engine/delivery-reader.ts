import { cursorOf } from "../delivery/cursor.ts";
import { type DeliveryFilter, limitOf } from "../delivery/delivery-filter.ts";
import type { Delivery } from "../delivery/delivery.ts";
import type { SkippedFilter } from "../delivery/skipped-call.ts";
import type { DeliveryStore } from "../store/delivery-store.ts";
import type { DeliveryPage, SkippedPage } from "./pages.ts";
import { checkDeliveryFilter, checkSkippedFilter } from "./check-filter.ts";

/** The parts that a reader uses. */
interface ReaderParts {
  readonly store: DeliveryStore;
  /** How a delivery is shown. */
  readonly engine: { readonly shown: (delivery: Delivery) => Delivery };
}

/** Reads what the store keeps, for people to look at. */
export class DeliveryReader {
  readonly #parts: ReaderParts;

  constructor(parts: ReaderParts) {
    this.#parts = parts;
  }

  async deliveries(filter: DeliveryFilter): Promise<readonly Delivery[]> {
    checkDeliveryFilter("deliveries", filter);
    const summaries = await this.#parts.store.list(filter);
    const deliveries = await Promise.all(summaries.map(({ id, source }) => this.delivery(id, source)));
    // What was removed between the two is no longer kept.
    return deliveries.filter((delivery) => delivery !== undefined);
  }

  async delivery(id: string, source?: string): Promise<Delivery | undefined> {
    const { store, engine } = this.#parts;
    const found = await store.find(id, source);
    return found && engine.shown(found);
  }

  async summaries(filter: DeliveryFilter): Promise<DeliveryPage> {
    checkDeliveryFilter("summaries", filter);
    const { store } = this.#parts;
    const deliveries = await store.list(filter);
    const next = await nextPage(deliveries, filter, (after) => store.list({ ...filter, after, limit: 1 }));
    return { deliveries, next };
  }

  async count(filter: DeliveryFilter): Promise<number> {
    checkDeliveryFilter("count", filter);
    return this.#parts.store.count(filter);
  }

  async skipped(filter: SkippedFilter): Promise<SkippedPage> {
    checkSkippedFilter(filter);
    const { store } = this.#parts;
    const calls = await store.skipped(filter);
    const next = await nextPage(calls, filter, (after) => store.skipped({ ...filter, after, limit: 1 }));
    return { calls, next };
  }
}

/** The cursor of the page after this one, if there is anything on it. */
async function nextPage(
  page: readonly { readonly acceptedAt: number; readonly id: string }[],
  filter: { readonly limit?: number | undefined },
  look: (after: string) => Promise<readonly unknown[]>,
): Promise<string | undefined> {
  const last = page.at(-1);
  if (last === undefined || page.length < limitOf(filter)) return undefined;
  const after = cursorOf(last);
  return (await look(after)).length > 0 ? after : undefined;
}
