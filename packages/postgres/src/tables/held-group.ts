/** Deliveries that this process delivers itself, and that are one row of the table `held`: which of them have ended. */
export class HeldGroup {
  /** The number of the claim, which is unique for this worker. */
  readonly claim: number;
  readonly #ended: boolean[] = [];

  constructor(claim: number) {
    this.claim = claim;
  }

  /** One more delivery; returns its position. */
  add(): number {
    return this.#ended.push(false) - 1;
  }

  /** The delivery at this position has ended, or waits as a row of its own. */
  end(position: number): void {
    this.#ended[position] = true;
  }

  /** A digit for each delivery, which is 1 for those that have ended, and for these. */
  endedWith(positions: Iterable<number>): string {
    const digits = this.#ended.map((hasEnded) => (hasEnded ? "1" : "0"));
    for (const position of positions) digits[position] = "1";
    return digits.join("");
  }
}

/** Where a delivery stands that is held. */
export interface HeldPlace {
  readonly group: HeldGroup;
  /** From 0. */
  readonly position: number;
  /** The key of its body. */
  readonly message: string;
}
