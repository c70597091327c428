import { setMaxListeners } from "node:events";

/**
 * The claims that this process holds: their numbers, the signal that they are lost, and which commands that claim are under
 * way.
 */
export class Claims {
  #number = 0;
  #commands = 0;
  #quiet: (() => void)[] = [];
  #lost = newController();

  /** Aborted when the claims made until then are lost. */
  get signal(): AbortSignal {
    return this.#lost.signal;
  }

  /** The number of a new claim. */
  next(): number {
    this.#number += 1;
    return this.#number;
  }

  /** Everything claimed until now is lost. */
  lose(): void {
    const lost = this.#lost;
    this.#lost = newController();
    lost.abort();
  }

  /** Runs a command that claims. */
  async during<T>(command: () => Promise<T>): Promise<T> {
    this.#commands += 1;
    try {
      return await command();
    } finally {
      this.#commands -= 1;
      if (this.#commands === 0) for (const resolve of this.#quiet.splice(0)) resolve();
    }
  }

  /** Resolves when no command that claims is under way. */
  async quiet(): Promise<void> {
    if (this.#commands > 0) await new Promise<void>((resolve) => this.#quiet.push(resolve));
  }
}

function newController(): AbortController {
  const controller = new AbortController();
  // Every attempt in progress listens.
  setMaxListeners(0, controller.signal);
  return controller;
}
