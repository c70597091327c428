/** An endpoint that took a forged message for a real one, and has not been seen to refuse one since. */
export interface ForgeryJson {
  /** `<source>/<destination>`. */
  readonly destination: string;
  readonly url: string;
  /** Id of the last delivery whose forgery it accepted. */
  readonly delivery: string;
  /** The fault that forged it. */
  readonly fault: string;
  /** What it answered. */
  readonly status: number;
  /** When that attempt started, ISO 8601. */
  readonly at: string;
}
