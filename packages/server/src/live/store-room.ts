import type { Sender } from "@countersign/sender";

/** Fullness is believed for this long; then a call may try again, in case room was made from outside. */
const BELIEVED_FOR_MS = 30_000;

/** Remembers that the store was full, until a delivery has ended and so made room. */
export class StoreRoom {
  readonly #onFull: (problem: string) => void;
  #fullSince: number | undefined;
  #problem = "";

  /** @param onFull Called once each time that the store becomes full. */
  constructor(sender: Sender, onFull: (problem: string) => void) {
    this.#onFull = onFull;
    const madeRoom = (): void => {
      this.#fullSince = undefined;
    };
    for (const event of ["delivered", "failed", "expired"] as const) sender.on(event, madeRoom);
  }

  /** A call found no room. */
  full(problem: string): void {
    if (this.problem() === undefined) this.#onFull(problem);
    this.#fullSince = performance.now();
    this.#problem = problem;
  }

  /** Why nothing can be stored, as far as is known. */
  problem(): string | undefined {
    if (this.#fullSince === undefined) return undefined;
    return performance.now() - this.#fullSince < BELIEVED_FOR_MS ? this.#problem : undefined;
  }
}
