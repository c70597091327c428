/** How soon the next beat comes while something is under way: the worker is joining. Twice as long after one that failed. */
const SHORT_BEAT_MS = 100;

/** What a heart does, and when it is in a hurry. */
export interface HeartOptions {
  /** Time from one beat to the next, in milliseconds. */
  readonly beatMs: number;
  readonly beat: () => Promise<void>;
  /** A beat failed; the next one comes soon. */
  readonly failed: (error: unknown) => void;
  /** Whether the worker waits for others, so that the next beat is to come soon. */
  readonly isWaiting: () => boolean;
}

/** One beat after another, never two at once, until it is stopped. */
export class Heart {
  readonly #options: HeartOptions;
  #timer: NodeJS.Timeout | undefined;
  #beating: Promise<void> | undefined;
  #again = false;
  #isStopped = false;

  constructor(options: HeartOptions) {
    this.#options = options;
  }

  /** The first beat comes after a pause. */
  start(): void {
    this.#schedule(this.#options.beatMs);
  }

  /** Beats now; if a beat is under way, another follows it soon. */
  beatNow(): void {
    if (this.#isStopped) return;
    clearTimeout(this.#timer);
    if (this.#beating === undefined) this.#run();
    else this.#again = true;
  }

  /** After the beat that is under way, another follows soon. */
  beatAgain(): void {
    this.#again = true;
  }

  /** Resolves when no beat is under way; none follows. */
  async stop(): Promise<void> {
    this.#isStopped = true;
    clearTimeout(this.#timer);
    await this.#beating;
  }

  #schedule(ms: number): void {
    if (this.#isStopped) return;
    clearTimeout(this.#timer);
    this.#timer = setTimeout(() => this.#run(), ms);
  }

  #run(): void {
    if (this.#isStopped || this.#beating !== undefined) return;
    const { beat, beatMs, failed, isWaiting } = this.#options;
    const beating = beat().then(
      () => beatMs,
      (error: unknown) => {
        failed(error);
        return SHORT_BEAT_MS * 2;
      },
    );
    this.#beating = beating.then((pause) => {
      this.#beating = undefined;
      const soon = this.#again || isWaiting();
      this.#again = false;
      this.#schedule(soon ? Math.min(pause, SHORT_BEAT_MS) : pause);
    });
  }
}
