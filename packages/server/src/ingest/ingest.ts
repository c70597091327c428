import type { IngestedCall } from "./normalize-call.ts";
import type { Rejection, Warning } from "./rejections.ts";

/** The results of the calls of one request. */
export interface Acceptance {
  /** Calls stored now. */
  readonly accepted: number;
  /** Calls that had been stored before: the repeats of a client's retry. */
  readonly duplicates: number;
  /** Calls that the forwarding engine would not take, each with its reason. */
  readonly refused: readonly Rejection[];
}

/** The store has no room left: no part of a request was stored, or only a part that is recognised when it is repeated. */
export class StoreFullError extends Error {
  override readonly name = "StoreFullError";
}

/** The parts that the ingestion routes use. */
export interface Ingest {
  /** Whether a source has this write key as its own. */
  readonly isWriteKey: (text: string) => boolean;
  /** The name of the source that a write key belongs to. */
  findSource(writeKey: string): string | undefined;
  /**
   * Stores the calls. Resolves when each of them is on disk (or was before), so that the answer 200 survives a kill.
   * Rejects when storing failed, with a {@link StoreFullError} if the store is full: the client is then asked to retry.
   */
  accept(source: string, calls: readonly IngestedCall[]): Promise<Acceptance>;
  /** Keeps messages that were not accepted, so that their author can look at them. */
  keepRejections(rejections: readonly Rejection[], source?: string): Promise<void>;
  /** Shows a warning to the author of an accepted message. */
  keepWarnings(warnings: readonly Warning[], source: string): void;
  /** Counts a request that was refused as a whole, by its code. */
  countRefusal(code: string): void;
  /** Seconds for which the client must wait: a rate limit injected as a fault. */
  rateLimit(): number | undefined;
  /** Receives unexpected exceptions; the client gets a 500 or 503 without details. */
  onError(error: unknown): void;
  /** The time, in milliseconds since 1970. */
  now(): number;
}
