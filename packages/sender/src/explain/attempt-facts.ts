import type { AttemptOutcome } from "../delivery/attempt.ts";

/**
 * The facts of an attempt that the explanations need. Attempts of the sender, of the control API and of live events all have
 * it.
 */
export interface AttemptFacts {
  /** URL of the endpoint. */
  readonly endpoint: string;
  readonly outcome: AttemptOutcome;
  /** Milliseconds to the response's headers, or to the failure. */
  readonly durationMs: number;
  readonly status?: number | undefined;
  readonly code?: string | undefined;
  readonly message?: string | undefined;
  /** The response's body as text. A summary has none. */
  readonly response?: string | undefined;
  readonly responseHeaders?: Readonly<Record<string, string>> | undefined;
  /** Name of the fault that was injected. */
  readonly fault?: string | undefined;
}

/** Facts besides the attempt. */
export interface ExplainContext {
  /** Whether the destination has a secret. Default: true. Without one, no receiver can tell a forgery. */
  readonly signed?: boolean | undefined;
}

/** Whether an attempt got an answer with this kind of status: `4` for 400 to 499. */
export function hasStatusClass({ status }: Pick<AttemptFacts, "status">, hundreds: number): boolean {
  return status !== undefined && Math.floor(status / 100) === hundreds;
}
