import type { Sender } from "@countersign/sender";
import { END_STATES } from "@countersign/sender/store";

/**
 * For how long it is believed that no call can be stored, after one could not. Then one may try again, in case room was made from
 * outside. Anything else that stops calls, such as a lock or a failover, ends sooner: a supervisor should not find it twice.
 */
const BELIEVED_FOR_MS = { full: 30_000, down: 5_000 } as const;

/**
 * A store that has stored a call within this time is not down, in milliseconds: it cannot store all, as where one of its parts is
 * away, or what one client sends. The others are to reach it, and are not to be told each time.
 */
const STORES_MS = 1_000;

/** How the store is, as the API shows it. */
export interface StoreStateJson {
  /** `unsafe` accepts nothing, because it could not keep it; `full` has no room for calls. */
  readonly state: "up" | "down" | "unsafe" | "full";
  readonly reason?: string;
}

/** Why a call could not be stored. */
interface Refusal {
  readonly state: keyof typeof BELIEVED_FOR_MS;
  readonly reason: string;
  /** Ends the belief in it. */
  readonly timeout: NodeJS.Timeout;
}

/**
 * Knows how the store is: as it says itself, and by the calls that it could not store. A database can answer all but these, as where
 * its user has lost a privilege. That the store was full is remembered until a delivery has ended and so made room, or the store says
 * that it was down; anything else until a call is stored. Either is believed for a while, and its end is told like any other.
 */
export class StoreRoom {
  readonly #sender: Pick<Sender, "storeState">;
  readonly #onChange: (state: StoreStateJson) => void;
  #refusal: Refusal | undefined;
  #storedAt = Number.NEGATIVE_INFINITY;

  /**
   * @param onChange Called each time that the store becomes full, down or unsafe, and when it is up again; at once if there is
   * already something to say of it.
   */
  constructor(sender: Sender, onChange: (state: StoreStateJson) => void) {
    this.#sender = sender;
    this.#onChange = onChange;
    sender.on("storeState", () => {
      // It knows better than the last call, and tells when it can be used again: a disk that was full has room then.
      if (!this.#isUp || this.#refusal?.state === "down") this.#forget();
      onChange(this.state());
    });
    for (const state of END_STATES) sender.on(state, () => this.#over("full"));
    // What was wrong when the store was opened is no change of the sender's, as a clock that differs from the database's.
    if (sender.storeState.reason !== undefined) onChange(this.state());
  }

  /** A call could not be stored: there was no room, or the store failed. */
  refused(state: Refusal["state"], reason: string): void {
    // What the store says itself is why.
    if (!this.#isUp) return;
    // One that says what is wrong knows better, and one that is up all the same can be used: of several parts, one is away.
    const isPartly =
      this.#sender.storeState.reason !== undefined || performance.now() - this.#storedAt < STORES_MS;
    if (state === "down" && isPartly) return;
    const before = this.state();
    this.#forget();
    const timeout = setTimeout(() => this.#over(state), BELIEVED_FOR_MS[state]).unref();
    this.#refusal = { state, reason, timeout };
    const after = this.state();
    if (after.state !== before.state) this.#onChange(after);
  }

  /** A call was stored. There may be no room for a larger one. */
  stored(): void {
    this.#storedAt = performance.now();
    this.#over("down");
  }

  /** How the store is. */
  state(): StoreStateJson {
    const { state, reason: why } = this.#sender.storeState;
    if (this.#isUp && this.#refusal) return { state: this.#refusal.state, reason: this.#refusal.reason };
    return { state, ...(why !== undefined && { reason: why }) };
  }

  get #isUp(): boolean {
    return this.#sender.storeState.state === "up";
  }

  #over(state: Refusal["state"]): void {
    if (this.#refusal?.state !== state) return;
    this.#forget();
    this.#onChange(this.state());
  }

  #forget(): void {
    clearTimeout(this.#refusal?.timeout);
    this.#refusal = undefined;
  }
}
