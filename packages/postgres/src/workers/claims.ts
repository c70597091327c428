import { setMaxListeners } from "node:events";
import { UnderWay } from "../database/under-way.ts";

/**
 * The claims that this process holds: their numbers, the signal that they are lost, and which commands that claim are under
 * way.
 */
export class Claims {
  #number = 0;
  readonly #commands = new UnderWay();
  #lost = newController();

  /** The signal for claims that are made now: aborted when they are lost. */
  get signal(): AbortSignal {
    return this.#lost.signal;
  }

  /** The number of a new claim. */
  next(): number {
    this.#number += 1;
    return this.#number;
  }

  /** Aborts the signal of all claims made until now: another worker has taken them over. */
  lose(): void {
    const lost = this.#lost;
    this.#lost = newController();
    lost.abort();
  }

  /** Runs a command that claims. */
  async during<T>(command: () => Promise<T>): Promise<T> {
    this.#commands.begin();
    try {
      return await command();
    } finally {
      this.#commands.end();
    }
  }

  /** Resolves when no command that claims is under way. */
  quiet(): Promise<void> {
    return this.#commands.ended();
  }
}

function newController(): AbortController {
  const controller = new AbortController();
  // Every attempt in progress adds a listener.
  setMaxListeners(0, controller.signal);
  return controller;
}
