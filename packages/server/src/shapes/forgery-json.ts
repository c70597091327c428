/** That an endpoint took a forged message for a real one, and has not been seen to refuse such a one since. */
export interface ForgeryJson {
  /** `<source>/<destination>`. */
  readonly destination: string;
  readonly url: string;
  /** Id of the last delivery whose forgery it accepted. Without one, an audit sent the forgery. */
  readonly delivery?: string;
  /** The fault, or the audit, that forged it. */
  readonly fault: string;
  /** What it answered. */
  readonly status: number;
  /** When that attempt started, ISO 8601. */
  readonly at: string;
}
