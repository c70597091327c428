import type { Fault } from "../faults/fault.ts";
import type { AttemptOutcome } from "../transport/transport.ts";

/** One POST to one endpoint, as it is logged. */
export interface Attempt {
  /** Which round of its delivery it belongs to, from 1. */
  readonly round: number;
  /** URL of the endpoint. */
  readonly endpoint: string;
  /** When it started, in milliseconds since 1970 by the sender's clock. */
  readonly startedAt: number;
  /** Physical milliseconds to the response's headers, or to the failure. */
  readonly durationMs: number;
  /** How it ended. */
  readonly outcome: AttemptOutcome;
  /** The response's status, when there was a response. */
  readonly status?: number | undefined;
  /** A stable code when there was none, such as `ECONNREFUSED`. */
  readonly code?: string | undefined;
  /** What happened, for a person to read. */
  readonly message?: string | undefined;
  /** The response's body as text, its first 16 KiB at most; empty when there was none. */
  readonly response: string;
  /** The fault that was injected into it. */
  readonly fault?: Fault | undefined;
}
