import type { DedupeStore } from "./dedupe.ts";

/** Handlers that never answer would otherwise leave their claims here forever. */
const MAX_OPEN = 100_000;

/** The latest claim of this process on each key of a store, until it is settled. */
const openClaims = new WeakMap<DedupeStore, Map<string, object>>();

/**
 * Notes a claim that was just made. A store knows keys alone: where a lease ends while its handler still runs, a repeat claims
 * the key again, and the release of the first claim would free the second one.
 *
 * @returns Ends the claim, and says whether it was still the latest on its key.
 */
export function openClaim(store: DedupeStore, key: string): () => boolean {
  const claim = {};
  let claims = openClaims.get(store);
  if (claims === undefined) openClaims.set(store, (claims = new Map<string, object>()));
  // The oldest come first.
  claims.delete(key);
  claims.set(key, claim);
  for (const oldest of claims.keys()) {
    if (claims.size <= MAX_OPEN) break;
    claims.delete(oldest);
  }
  return () => claims.get(key) === claim && claims.delete(key);
}
