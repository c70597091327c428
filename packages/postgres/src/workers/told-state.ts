import { LARGEST_SKEW_MS, type StoreState } from "@countersign/sender/store";

/** The state of the store as it was told last: only a change is told. */
export class ToldState {
  readonly #changed: (state: StoreState) => void;
  #text = "";
  /** By how much the clock was told to be wrong. */
  #skewMs = 0;

  constructor(changed: (state: StoreState) => void) {
    this.#changed = changed;
  }

  tell(state: StoreState): void {
    const text = `${state.state} ${state.reason ?? ""}`;
    if (text === this.#text) return;
    this.#text = text;
    this.#changed(state);
  }

  /** Each reading differs a little. What somebody corrects the clock by must be true, also after the clock was set again. */
  tellUnsafe(reason: string, skewMs: number): void {
    const isTold = this.#text.startsWith("unsafe ") && Math.abs(skewMs - this.#skewMs) <= LARGEST_SKEW_MS;
    if (isTold) return;
    this.#skewMs = skewMs;
    this.tell({ state: "unsafe", reason });
  }
}
