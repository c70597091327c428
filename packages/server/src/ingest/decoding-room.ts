import type { EventEmitter } from "node:events";
import { systemClock, type Clock } from "@countersign/protocol";

/** A part of the room that a body takes. */
export interface Place {
  /** Gives back what is beyond `bytes`, now that the size of the body is known. */
  shrink(bytes: number): void;
  /** Gives all of it back. */
  leave(): void;
}

interface Waiting {
  readonly bytes: number;
  readonly since: number;
  /** Ends the wait, with a place or without. */
  readonly end: (place?: Place) => void;
}

/** A body waits for at most this long: as long as a call waits for an answer of a database. */
const LONGEST_WAIT_MS = 5_000;

/** After this time, what arrived later no longer goes first. */
const PATIENCE_MS = 1_000;

/**
 * How much decoded JSON all requests together may work on. The values of a body take up to twenty times its bytes, and a few
 * hundred bytes of gzip are a body: without a limit, the requests of a thousand connections would fill the memory.
 *
 * Whatever does not fit waits. What fits may go first, so that large bodies keep no small ones waiting, until one has waited for a
 * second. What has a place keeps it until it is stored, so a wait would otherwise last as long as a database hangs.
 */
export class DecodingRoom {
  #left: number;
  readonly #clock: Pick<Clock, "now" | "schedule">;
  /** In order of arrival. */
  readonly #waiting = new Set<Waiting>();

  /**
   * @param bytes The most at any time. No body may be larger.
   * @param clock Ends what waits for too long. The machine's also where the server's clock is virtual: a database is not.
   */
  constructor(bytes: number, clock: Pick<Clock, "now" | "schedule"> = systemClock()) {
    this.#left = bytes;
    this.#clock = clock;
  }

  /**
   * Waits until there is room for a body of at most `bytes`.
   *
   * @param connection Its client waits for the answer until this closes.
   * @returns undefined when there was no room in time, or the client has gone.
   */
  enter(bytes: number, connection: EventEmitter): Promise<Place | undefined> {
    return new Promise((resolve) => {
      if (this.#waiting.size === 0 && bytes <= this.#left) {
        resolve(this.#take(bytes));
        return;
      }
      const since = this.#clock.now();
      const end = (place?: Place): void => {
        this.#waiting.delete(waiting);
        timeout.cancel();
        connection.off("close", giveUp);
        resolve(place);
      };
      const giveUp = (): void => {
        end();
        // Those behind it may fit.
        this.#admit();
      };
      const waiting: Waiting = { bytes, since, end };
      const timeout = this.#clock.schedule(since + LONGEST_WAIT_MS, giveUp);
      connection.once("close", giveUp);
      this.#waiting.add(waiting);
      this.#admit();
    });
  }

  #admit(): void {
    const now = this.#clock.now();
    for (const { bytes, since, end } of this.#waiting) {
      if (bytes <= this.#left) end(this.#take(bytes));
      else if (now - since >= PATIENCE_MS) return;
    }
  }

  #take(taken: number): Place {
    this.#left -= taken;
    let held = taken;
    const shrink = (bytes: number): void => {
      this.#left += held - bytes;
      held = bytes;
      this.#admit();
    };
    return { shrink, leave: () => shrink(0) };
  }
}
