import type { Warning } from "../ingest/rejections.ts";
import { iso } from "../shapes/times.ts";

/** A warning as it is kept. */
export interface KeptWarning extends Warning {
  /** When the message came in, ISO 8601. */
  readonly receivedAt: string;
  readonly source: string;
}

const MAX_WARNINGS = 1_000;

/** The last thousand warnings since the server started. */
export class WarningList {
  readonly #warnings: KeptWarning[] = [];

  /** Keeps warnings; the oldest beyond a thousand go. */
  keep(warnings: readonly Warning[], source: string, now: number): void {
    const receivedAt = iso(now);
    this.#warnings.push(...warnings.map((warning) => ({ receivedAt, source, ...warning })));
    if (this.#warnings.length > MAX_WARNINGS) this.#warnings.splice(0, this.#warnings.length - MAX_WARNINGS);
  }

  /** The newest first. */
  list(limit: number): readonly KeptWarning[] {
    return this.#warnings.slice(-limit).toReversed();
  }
}
