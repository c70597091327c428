import type { Probe } from "../probe/probe.ts";

/**
 * How much an audit matters. `MUST`: security, at-least-once delivery, staying alive; a receiver that fails one loses
 * messages, takes forged ones, or can be stopped by a stranger. `SHOULD`: good manners that make a receiver easier to
 * operate.
 */
export type AuditLevel = "MUST" | "SHOULD";

/** Why an audit failed, in words for whoever owns the receiver. The shared secret appears in none of them. */
export interface AuditFailure {
  /** What was sent. */
  readonly sent: string;
  /** What a right receiver does with it. */
  readonly expected: string;
  /** What this receiver did. */
  readonly received: string;
  /** What to change in the receiver. */
  readonly fix: string;
}

/** One rule that a receiver is held to. */
export interface Audit {
  /** Stable name, in lower case with hyphens: `rejects-tampered-body`. */
  readonly id: string;
  readonly level: AuditLevel;
  /** The rule in one sentence. */
  readonly title: string;
  /**
   * Puts the rule to the receiver that the probe talks to.
   *
   * @returns Nothing when the receiver follows the rule, else why not. It rejects only when the probe's signal aborts.
   */
  run(probe: Probe): Promise<AuditFailure | undefined>;
}
