import type { DedupeStore } from "./dedupe.ts";
import { openClaim } from "./open-claims.ts";
import { emitWarning } from "../process.ts";

/** A store is someone else's code, and one that answers `true` must not run a handler twice. */
export function checkClaim(claim: unknown): unknown {
  if (claim === "new" || claim === "in-flight" || claim === "done") return claim;
  throw new TypeError(
    `The dedupe store's claim() must return "new", "in-flight" or "done", but returned ${String(claim)}.`,
  );
}

/** The `settle` of a receiver without a dedupe store: adapters need not call it. */
export const settleNothing = (): Promise<void> => Promise.resolve();

/** Tells a store how the app answered a delivery; see {@link Received}. */
export function settleIn(
  dedupe: DedupeStore | undefined,
  key: string | undefined,
): (status: number) => Promise<void> {
  if (dedupe === undefined || key === undefined) return settleNothing;
  const endClaim = openClaim(dedupe, key);
  return async (status) => {
    const isHeld = endClaim();
    try {
      if (status >= 200 && status < 300) await dedupe.commit(key);
      else if (isHeld) await dedupe.release(key);
    } catch (error) {
      emitWarning(
        `The dedupe store failed after the webhook was handled: ${String(error)}`,
        "COUNTERSIGN_DEDUPE",
      );
    }
  };
}
