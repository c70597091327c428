import type { Delivery, DeliveryProgress } from "../delivery/delivery.ts";
import type { SkippedCall } from "../delivery/skipped-call.ts";
import type { TraitOwner } from "./trait-owner.ts";

/** A delivery with all that a store keeps of it. */
export interface StoredDelivery extends Delivery {
  /** Rounds that have ended so far. */
  readonly rounds: number;
  /** What is known of the endpoints, while it is pending. */
  readonly progress: DeliveryProgress;
  /** How many attempts were made: not all of them may be kept. */
  readonly attemptsMade: number;
  /** Deliveries of one part that have the same text here have the same body. */
  readonly bodyId: string;
}

/** The keys of calls, by which repeats are known. */
export interface StoredKeys {
  readonly kind: "keys";
  /** The longest time, in milliseconds, within which a key was asked for. */
  readonly keepForMs: number;
  readonly keys: readonly { readonly source: string; readonly key: string; readonly at: number }[];
}

/** What a destination knows of a trait, or some of it. */
export interface StoredTrait {
  readonly kind: "trait";
  readonly source: string;
  readonly trait: string;
  readonly owner: TraitOwner;
  /** Empty for a trait of which no destination knows a value. */
  readonly destination: string;
  /** JSON text of each user's value. */
  readonly values: ReadonlyMap<string, string>;
}

/** How many calls of each source were counted. */
export interface StoredUsage {
  readonly kind: "usage";
  /** Identifies the store: what it has counted is taken once. */
  readonly from: string;
  readonly usage: ReadonlyMap<string, number>;
}

/** A part of what a store keeps, for the store that takes it over. */
export type StoredPart =
  | StoredKeys
  | StoredTrait
  | StoredUsage
  | { readonly kind: "deliveries"; readonly deliveries: readonly StoredDelivery[] }
  | { readonly kind: "skipped"; readonly calls: readonly SkippedCall[] };
