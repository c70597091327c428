import type { Sender } from "@countersign/sender";
import { END_STATES } from "@countersign/sender/store";

/** Fullness is believed for this long; then a call may try again, in case room was made from outside. */
const BELIEVED_FOR_MS = 30_000;

/** How the store is, as the API shows it. */
export interface StoreStateJson {
  /** `unsafe` accepts nothing, because it could not keep it; `full` has no room for calls. */
  readonly state: "up" | "down" | "unsafe" | "full";
  readonly reason?: string;
}

/** Knows how the store is. That it was full is remembered until a delivery has ended and so made room. */
export class StoreRoom {
  readonly #sender: Pick<Sender, "storeState">;
  readonly #onChange: (state: StoreStateJson) => void;
  #fullSince: number | undefined;
  #whyFull = "";

  /**
   * @param onChange Called each time that the store becomes full, down or unsafe, and when it is up again; at once if there is
   * already something to say of it.
   */
  constructor(sender: Sender, onChange: (state: StoreStateJson) => void) {
    this.#sender = sender;
    this.#onChange = onChange;
    sender.on("storeState", () => onChange(this.state()));
    const madeRoom = (): void => {
      if (this.#fullSince === undefined) return;
      this.#fullSince = undefined;
      onChange(this.state());
    };
    for (const state of END_STATES) sender.on(state, madeRoom);
    // What was wrong when the store was opened is no change of the sender's, as a clock that differs from the database's.
    if (sender.storeState.reason !== undefined) onChange(this.state());
  }

  /** A call found no room. */
  full(problem: string): void {
    const isNews = this.#problem() === undefined;
    this.#fullSince = performance.now();
    this.#whyFull = problem;
    if (isNews) this.#onChange(this.state());
  }

  /** How the store is. */
  state(): StoreStateJson {
    const { state, reason: why } = this.#sender.storeState;
    const problem = state === "up" ? this.#problem() : undefined;
    if (problem !== undefined) return { state: "full", reason: problem };
    return { state, ...(why !== undefined && { reason: why }) };
  }

  /** Why there is no room, as far as is known. */
  #problem(): string | undefined {
    if (this.#fullSince === undefined) return undefined;
    return performance.now() - this.#fullSince < BELIEVED_FOR_MS ? this.#whyFull : undefined;
  }
}
