import { ACCEPTED_FORGERY, verdictOf, type ExplainContext } from "@countersign/sender/explain";
import type { LiveEvent } from "@countersign/server";
import { printable } from "../terminal/terminal.ts";

/** A forgery that a receiver accepted, and how often. */
export interface AcceptedForgery {
  readonly fault: string;
  readonly endpoint: string;
  readonly times: number;
}

/** The totals of a server between its start and its end. */
export interface ServeSums {
  readonly accepted: number;
  readonly delivered: number;
  readonly failed: number;
  readonly expired: number;
  /** Forgeries that were rejected, as they should be: they are not among the failed. */
  readonly forgeriesRefused: number;
  readonly forgeriesAccepted: readonly AcceptedForgery[];
}

/** How many failed deliveries are remembered. */
const MAX_FAILED = 100;

/** Adds up what events tell. */
export class SumsOfEvents {
  readonly #counts = { accepted: 0, delivered: 0, failed: 0, expired: 0, forgeriesRefused: 0 };
  readonly #forgeries = new Map<string, AcceptedForgery>();
  /** Deliveries whose forgery was rejected, and which have not ended. */
  readonly #refused = new Set<string>();
  readonly #failed: string[] = [];

  /** Deliveries that have ended. */
  get ended(): number {
    const { delivered, failed, expired, forgeriesRefused } = this.#counts;
    return delivered + failed + expired + forgeriesRefused;
  }

  get sums(): ServeSums {
    return { ...this.#counts, forgeriesAccepted: [...this.#forgeries.values()] };
  }

  /** The delivery that failed last and was not asked for before; `undefined` when there is none. */
  takeLastFailed(): string | undefined {
    return this.#failed.pop();
  }

  /** @param context Of the delivery's destination, for attempts. */
  count(event: LiveEvent, context: ExplainContext): void {
    switch (event.event) {
      case "attempt": {
        const { id } = event.delivery;
        const { endpoint, fault = "" } = event.attempt;
        const { kind } = verdictOf(event.attempt, context);
        if (kind === "refused_forgery") this.#refused.add(id);
        else this.#refused.delete(id);
        if (kind === "accepted_forgery") this.#forgery(endpoint, fault);
        break;
      }
      case "failed":
        if (this.#refused.delete(event.delivery.id)) this.#counts.forgeriesRefused += 1;
        else this.#failure("failed", event.delivery.id);
        break;
      case "expired":
        this.#refused.delete(event.delivery.id);
        this.#failure("expired", event.delivery.id);
        break;
      case "delivered":
        this.#refused.delete(event.delivery.id);
        this.#counts.delivered += 1;
        break;
      case "accepted":
        this.#counts.accepted += 1;
        break;
      default:
    }
  }

  #failure(state: "failed" | "expired", id: string): void {
    this.#counts[state] += 1;
    this.#failed.push(id);
    if (this.#failed.length > MAX_FAILED) this.#failed.shift();
  }

  #forgery(endpoint: string, fault: string): void {
    const key = `${fault} ${endpoint}`;
    const times = (this.#forgeries.get(key)?.times ?? 0) + 1;
    this.#forgeries.set(key, { fault, endpoint, times });
  }
}

/**
 * The totals in one sentence: `18 accepted, 11 delivered, 2 failed, 3 waiting (gone: no --data)`.
 *
 * @param waiting Deliveries that have not ended; `undefined` if the store did not say.
 * @param store `kept`: where they are kept; `undefined` for in memory. `delivers`: whether this server delivers them; 0 would say that
 * nobody did.
 */
export function sumsLine(
  sums: ServeSums,
  waiting: number | undefined,
  { kept, delivers = true }: { readonly kept: string | undefined; readonly delivers?: boolean },
): string {
  const { accepted, delivered, failed, expired, forgeriesRefused } = sums;
  const forgeries = `${forgeriesRefused === 1 ? "forgery" : "forgeries"} rejected`;
  const counts = [
    `${accepted} accepted`,
    ...(delivers ? [`${delivered} delivered`] : []),
    ...(failed > 0 ? [`${failed} failed`] : []),
    ...(expired > 0 ? [`${expired} expired`] : []),
    ...(forgeriesRefused > 0 ? [`${forgeriesRefused} ${forgeries}`] : []),
    ...(waiting === undefined ? ["an unknown number waiting"] : waiting > 0 ? [`${waiting} waiting`] : []),
  ].join(", ");
  if (waiting === 0) return counts;
  return `${counts} (${kept === undefined ? "gone: no --data" : `kept in ${printable(kept)}`})`;
}

/** Each receiver that accepted a forgery, once more. */
export function forgeryLines({ forgeriesAccepted }: ServeSums): readonly string[] {
  return forgeriesAccepted.map(({ fault, endpoint, times }) => {
    const often = times === 1 ? "" : ` ${times} times`;
    return `${ACCEPTED_FORGERY}${often}: ${fault} at ${printable(endpoint)}`;
  });
}
