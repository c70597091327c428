/** A part of the room that a body takes. */
export interface Place {
  /** Gives back what is beyond `bytes`, now that the size of the body is known. */
  shrink(bytes: number): void;
  /** Gives all of it back. */
  leave(): void;
}

interface Waiting {
  readonly bytes: number;
  readonly enter: (place: Place) => void;
}

/**
 * How much decoded JSON all requests together may work on. The values of a body take up to twenty times its bytes, and a few
 * hundred bytes of gzip are a body: without a limit, the requests of a thousand connections would fill the memory.
 *
 * Whatever does not fit waits. What fits may go first, so that large bodies keep no small ones waiting.
 */
export class DecodingRoom {
  #left: number;
  readonly #waiting = new Set<Waiting>();

  /** @param bytes The most at any time. No body may be larger. */
  constructor(bytes: number) {
    this.#left = bytes;
  }

  /** Waits until there is room for a body of at most `bytes`. */
  enter(bytes: number): Promise<Place> {
    return new Promise((enter) => {
      this.#waiting.add({ bytes, enter });
      this.#admit();
    });
  }

  #admit(): void {
    for (const waiting of this.#waiting) {
      if (waiting.bytes > this.#left) continue;
      this.#waiting.delete(waiting);
      this.#left -= waiting.bytes;
      waiting.enter(this.#place(waiting.bytes));
    }
  }

  #place(taken: number): Place {
    let held = taken;
    const shrink = (bytes: number): void => {
      this.#left += held - bytes;
      held = bytes;
      this.#admit();
    };
    return { shrink, leave: () => shrink(0) };
  }
}
