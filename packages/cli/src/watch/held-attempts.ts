import type { AttemptEventJson, DeliveryJson } from "@countersign/server";

/** An attempt whose line is not printed yet. */
export interface HeldAttempt {
  readonly at: string;
  readonly delivery: DeliveryJson;
  readonly attempt: AttemptEventJson;
}

/** An attempt that nothing follows is shown after this time: the store is slow, or another attempt of its round. */
const PATIENCE_MS = 1_000;

/** Keeps failed attempts back until it is known what their delivery does next, so that one line can say both. */
export class HeldAttempts {
  readonly #giveUp: (held: readonly HeldAttempt[]) => void;
  readonly #held = new Map<string, { readonly since: number; readonly attempts: HeldAttempt[] }>();
  #timer: NodeJS.Timeout | undefined;

  /** `giveUp` receives attempts that were held for too long. */
  constructor(giveUp: (held: readonly HeldAttempt[]) => void) {
    this.#giveUp = giveUp;
  }

  hold(attempt: HeldAttempt): void {
    const { id } = attempt.delivery;
    const known = this.#held.get(id);
    if (known) known.attempts.push(attempt);
    else this.#held.set(id, { since: performance.now(), attempts: [attempt] });
    this.#timer ??= setTimeout(this.#look, PATIENCE_MS).unref();
  }

  /** The held attempts of a delivery, which are then held no longer. */
  release(id: string): readonly HeldAttempt[] {
    const held = this.#held.get(id);
    this.#held.delete(id);
    return held?.attempts ?? [];
  }

  /** Releases everything that is held. */
  close(): void {
    clearTimeout(this.#timer);
    for (const id of this.#held.keys()) this.#giveUp(this.release(id));
  }

  readonly #look = (): void => {
    this.#timer = undefined;
    const now = performance.now();
    for (const [id, { since }] of this.#held) {
      const rest = PATIENCE_MS - (now - since);
      if (rest > 0) {
        this.#timer = setTimeout(this.#look, Math.ceil(rest)).unref();
        return;
      }
      this.#giveUp(this.release(id));
    }
  };
}
