import type { DeliveryJson } from "@countersign/server";

interface Waiting {
  readonly at: string;
  readonly delivery: DeliveryJson;
  readonly since: number;
}

/** So long after it was accepted, a delivery without an answer gets a line. */
const PATIENCE_MS = 300;
/** More are not watched. A terminal could not show them. */
const MAX_WAITING = 1_000;

/** Deliveries that were accepted, and whose receiver has not answered yet. */
export class Unanswered {
  readonly #tell: (at: string, delivery: DeliveryJson) => void;
  readonly #waiting = new Map<string, Waiting>();
  #timer: NodeJS.Timeout | undefined;

  /** `tell` is called once for each delivery that has no answer within 300 ms. */
  constructor(tell: (at: string, delivery: DeliveryJson) => void) {
    this.#tell = tell;
  }

  accepted(at: string, delivery: DeliveryJson): void {
    if (this.#waiting.size >= MAX_WAITING) return;
    this.#waiting.set(delivery.id, { at, delivery, since: performance.now() });
    this.#timer ??= setTimeout(this.#look, PATIENCE_MS).unref();
  }

  answered(id: string): void {
    this.#waiting.delete(id);
  }

  close(): void {
    clearTimeout(this.#timer);
    this.#waiting.clear();
  }

  readonly #look = (): void => {
    this.#timer = undefined;
    const now = performance.now();
    for (const [id, { at, delivery, since }] of this.#waiting) {
      const rest = PATIENCE_MS - (now - since);
      // In the order in which they were accepted: those after it have waited less.
      if (rest > 0) {
        this.#timer = setTimeout(this.#look, Math.ceil(rest)).unref();
        return;
      }
      this.#waiting.delete(id);
      this.#tell(at, delivery);
    }
  };
}
