/** The tokens of the claims that this process holds, until they run out. */
export class OwnClaims {
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
