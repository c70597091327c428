import type { Attempt, DeliveryInfo, Sender } from "@countersign/sender";
import { isForgery, verdictKindOf } from "@countersign/sender/explain";
import type { Ledger } from "../ledger/ledger.ts";
import { destinationOf, destinationsByKey } from "../settings/find-settings.ts";
import type { ForgeryJson } from "../shapes/forgery-json.ts";
import { iso } from "../shapes/times.ts";

/** An endpoint of a destination. */
type Place = Pick<ForgeryJson, "destination" | "url">;

/** What tells the entries of the list apart: a fault of an endpoint, or all audits of it. */
type Entry = Place & Pick<ForgeryJson, "delivery" | "fault">;

/** An entry that changes again within this time is kept at its end. */
const KEEP_EVERY_MS = 60_000;

/** What a {@link ForgeryList} works on. */
export interface ForgeryListParts {
  readonly sender: Sender;
  readonly ledger: Pick<Ledger, "forgeries" | "keepForgeries">;
  /** Called when an endpoint has accepted the first forgery of its kind, and when it has been seen to refuse one. */
  readonly onChange: (forgery: Place & Pick<ForgeryJson, "fault">, accepted: boolean) => void;
  /** Receives why the list could not be kept. */
  readonly onError: (error: unknown) => void;
}

/**
 * Knows which endpoints accept forged messages, one entry for each fault, since one that rejects a wrong signature may accept a
 * message without any. It learns that from attempts as they end, so that no delivery is looked for, and from audits, which have one
 * entry together. The ledger keeps the list over a restart.
 */
export class ForgeryList {
  readonly #parts: ForgeryListParts;
  #forgeries: readonly ForgeryJson[];
  /** When entries that have changed were kept, by `performance.now()`: those of the last minute. */
  readonly #keptAt = new Map<string, number>();
  /** Keeps what has changed since then. */
  #later: NodeJS.Timeout | undefined;

  constructor(parts: ForgeryListParts) {
    this.#parts = parts;
    this.#forgeries = parts.ledger.forgeries();
    parts.sender.on("attempt", ({ delivery, attempt }) => this.#note(delivery, attempt));
  }

  /** Those of the endpoints that the settings have and that can tell a forgery: without a secret, none can. */
  list(): readonly ForgeryJson[] {
    if (this.#forgeries.length === 0) return [];
    const known = destinationsByKey(this.#parts.sender.settings);
    return this.#forgeries.filter(({ destination, url }) => {
      const settings = known.get(destination);
      return settings?.secret !== undefined && settings.endpoints.some((endpoint) => endpoint.url === url);
    });
  }

  /** An endpoint has accepted a forged message. */
  accepted(forgery: ForgeryJson): void {
    const others = this.#forgeries.filter((other) => !isSame(other, forgery));
    if (others.length < this.#forgeries.length) {
      this.#change([...others, forgery], [forgery]);
      return;
    }
    // What the settings no longer have goes, so that the list is never longer than they are.
    const known = destinationsByKey(this.#parts.sender.settings);
    const left = others.filter(({ destination, url }) =>
      known.get(destination)?.endpoints.some((endpoint) => endpoint.url === url),
    );
    this.#change([...left, forgery], [forgery]);
    this.#parts.onChange(forgery, true);
  }

  /** An endpoint has passed all audits: it refuses every forgery. */
  passed({ destination, url }: Place): void {
    this.#remove((forgery) => forgery.destination === destination && forgery.url === url);
  }

  #note({ id, destination }: DeliveryInfo, attempt: Attempt): void {
    const { endpoint: url, fault, status = 0, startedAt } = attempt;
    if (fault === undefined || !isForgery(fault)) return;
    const signed = destinationOf(this.#parts.sender.settings, destination)?.secret !== undefined;
    const kind = verdictKindOf(attempt, { signed });
    const forgery = { destination, url, delivery: id, fault, status, at: iso(startedAt) };
    if (kind === "accepted_forgery") this.accepted(forgery);
    if (kind === "refused_forgery") this.#remove((other) => isSame(other, forgery));
  }

  #remove(isOver: (forgery: ForgeryJson) => boolean): void {
    const over = this.#forgeries.filter((forgery) => isOver(forgery));
    if (over.length === 0) return;
    this.#change(
      this.#forgeries.filter((forgery) => !over.includes(forgery)),
      over,
    );
    for (const forgery of over) this.#parts.onChange(forgery, false);
  }

  /** Keeps what waits for the end of its minute. */
  close(): void {
    if (this.#later !== undefined) this.#keep();
  }

  /**
   * An entry is kept as soon as it changes, and then once a minute: a fault may strike every message, and an endpoint may accept and
   * refuse forgeries in turn. Each of that would be a write.
   */
  #change(forgeries: readonly ForgeryJson[], changed: readonly Entry[]): void {
    this.#forgeries = forgeries;
    const now = performance.now();
    for (const [key, at] of this.#keptAt) if (now - at >= KEEP_EVERY_MS) this.#keptAt.delete(key);
    const fresh = changed.map(keyOf).filter((key) => !this.#keptAt.has(key));
    for (const key of fresh) this.#keptAt.set(key, now);
    if (fresh.length > 0) this.#keep();
    else this.#later ??= setTimeout(() => this.#keep(), KEEP_EVERY_MS).unref();
  }

  #keep(): void {
    clearTimeout(this.#later);
    this.#later = undefined;
    this.#parts.ledger.keepForgeries(this.#forgeries).catch(this.#parts.onError);
  }
}

/** What an entry is of. Forgeries of audits have no delivery, and share one for each endpoint. */
function keyOf({ destination, url, delivery, fault }: Entry): string {
  return JSON.stringify([destination, url, delivery && fault]);
}

/** Whether two forgeries share an entry. */
function isSame(one: Entry, other: Entry): boolean {
  return keyOf(one) === keyOf(other);
}
