import type { Attempt, DeliveryInfo, Sender } from "@countersign/sender";
import { isForgery, verdictKindOf } from "@countersign/sender/explain";
import type { Ledger } from "../ledger/ledger.ts";
import { destinationOf, destinationsByKey } from "../settings/find-settings.ts";
import type { ForgeryJson } from "../shapes/forgery-json.ts";
import { iso } from "../shapes/times.ts";

/** An endpoint of a destination. */
type Place = Pick<ForgeryJson, "destination" | "url">;

/** What a {@link ForgeryList} works on. */
export interface ForgeryListParts {
  readonly sender: Sender;
  readonly ledger: Pick<Ledger, "forgeries" | "keepForgeries">;
  /** Called when an endpoint has accepted its first forgery, and when it has been seen to refuse one. */
  readonly onChange: (place: Place, accepted: boolean) => void;
  /** Receives why the list could not be kept. */
  readonly onError: (error: unknown) => void;
}

/**
 * Knows which endpoints accept forged messages, one entry each: from the attempts as they end, so that no delivery is looked for.
 * The ledger keeps the list over a restart.
 */
export class ForgeryList {
  readonly #parts: ForgeryListParts;
  #forgeries: readonly ForgeryJson[];

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

  /** An endpoint was seen to refuse forgeries. */
  refused(place: Place): void {
    const others = this.#besides(place);
    if (others.length === this.#forgeries.length) return;
    this.#keep(others);
    this.#parts.onChange(place, false);
  }

  #note({ id, destination }: DeliveryInfo, attempt: Attempt): void {
    const { endpoint: url, fault, status = 0, startedAt } = attempt;
    if (fault === undefined || !isForgery(fault)) return;
    const { sender, onChange } = this.#parts;
    const signed = destinationOf(sender.settings, destination)?.secret !== undefined;
    const kind = verdictKindOf(attempt, { signed });
    if (kind === "refused_forgery") this.refused({ destination, url });
    if (kind !== "accepted_forgery") return;
    // What the settings no longer have goes, so that the list is never longer than they are.
    const known = destinationsByKey(sender.settings);
    const others = this.#besides({ destination, url });
    const isNew = others.length === this.#forgeries.length;
    const left = others.filter((other) =>
      known.get(other.destination)?.endpoints.some((endpoint) => endpoint.url === other.url),
    );
    this.#keep([...left, { destination, url, delivery: id, fault, status, at: iso(startedAt) }]);
    if (isNew) onChange({ destination, url }, true);
  }

  #besides({ destination, url }: Place): readonly ForgeryJson[] {
    return this.#forgeries.filter((one) => one.destination !== destination || one.url !== url);
  }

  #keep(forgeries: readonly ForgeryJson[]): void {
    this.#forgeries = forgeries;
    this.#parts.ledger.keepForgeries(forgeries).catch(this.#parts.onError);
  }
}
