import type { Claim, DedupeStore } from "./dedupe/dedupe.ts";

export type { Claim, DedupeStore } from "./dedupe/dedupe.ts";

/** The steps of a {@link DedupeStore} that receivers on many machines share. Each must be atomic. */
export interface SharedDedupeSteps {
  /** Takes the key for this token if it is free. The same token again gets the same answer. */
  claim(key: string, token: string): Promise<Claim>;
  /** The delivery was handled, whichever token has the key. */
  commit(key: string): Promise<void>;
  /** Releases the key if this token still has it. */
  release(key: string, token: string): Promise<void>;
}

/**
 * A {@link DedupeStore} for receivers on many machines, made from steps that a database does. Each claim gets a token of its
 * own, so that a claim whose lease is over is not released after another receiver has taken the key.
 *
 * @param steps - What the database does.
 * @param leaseMs - How long the database keeps a claim, in milliseconds.
 * @example
 * ```ts
 * const dedupe = sharedDedupe({ claim, commit, release }, 60_000);
 * ```
 */
export function sharedDedupe(steps: SharedDedupeSteps, leaseMs: number): DedupeStore {
  const claims = new OwnClaims(leaseMs);
  return {
    async claim(key) {
      const token = crypto.randomUUID();
      const claim = await steps.claim(key, token).catch((error: unknown) => {
        // It may be taken all the same, and every repeat would then wait until the lease is over.
        steps.release(key, token).catch(() => {});
        throw error;
      });
      if (claim === "new") claims.add(key, token);
      return claim;
    },
    async commit(key) {
      claims.take(key);
      await steps.commit(key);
    },
    async release(key) {
      const token = claims.take(key);
      if (token !== undefined) await steps.release(key, token);
    },
  };
}

/** The tokens of the claims that this process holds, until they run out. */
class OwnClaims {
  readonly #leaseMs: number;
  readonly #claims = new Map<string, { readonly token: string; readonly until: number }>();

  constructor(leaseMs: number) {
    this.#leaseMs = leaseMs;
  }

  add(key: string, token: string): void {
    const now = performance.now();
    // The oldest come first. A handler that never answers would otherwise leave its token here forever.
    for (const [oldest, { until }] of this.#claims) {
      if (until > now) break;
      this.#claims.delete(oldest);
    }
    this.#claims.delete(key);
    this.#claims.set(key, { token, until: now + this.#leaseMs });
  }

  take(key: string): string | undefined {
    const token = this.#claims.get(key)?.token;
    this.#claims.delete(key);
    return token;
  }
}
