import { type Cursor, cursorOf } from "../delivery/cursor.ts";
import { type DeliveryFilter, limitOf, MAX_LIMIT } from "../delivery/delivery-filter.ts";
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
    const { items, next } = await pageOf(filter, (part) => store.list(part));
    return { deliveries: items, next };
  }

  async count(filter: DeliveryFilter): Promise<number> {
    checkDeliveryFilter("count", filter);
    return this.#parts.store.count(filter);
  }

  async skipped(filter: SkippedFilter): Promise<SkippedPage> {
    checkSkippedFilter(filter);
    const { store } = this.#parts;
    const { items, next } = await pageOf(filter, (part) => store.skipped(part));
    return { calls: items, next };
  }
}

/** What a page of either kind is asked by. */
interface PageFilter {
  readonly limit?: number | undefined;
  readonly after?: string | undefined;
}

/** A page, and the cursor of the one after it, if there is anything on it. */
async function pageOf<Filter extends PageFilter, Item extends Cursor>(
  filter: Filter,
  read: (filter: Filter) => Promise<readonly Item[]>,
): Promise<{ readonly items: readonly Item[]; readonly next: string | undefined }> {
  const limit = limitOf(filter);
  // One more than is wanted tells whether there is a next page, so that the store is asked once.
  const found = await read({ ...filter, limit: limit + 1 });
  const items = found.slice(0, limit);
  const last = items.at(-1);
  if (last === undefined || items.length < limit) return { items, next: undefined };
  const after = cursorOf(last);
  // A store gives no more than so many.
  const hasMore =
    found.length > limit || (limit === MAX_LIMIT && (await read({ ...filter, after, limit: 1 })).length > 0);
  return { items, next: hasMore ? after : undefined };
}
