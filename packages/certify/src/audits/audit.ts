import type { Probe } from "../probe/probe.ts";

/**
 * How much an audit matters. `MUST`: security, at-least-once delivery, staying up; a receiver that fails one loses
 * messages, accepts forged ones, or can be stopped by a stranger. `SHOULD`: good practice that makes a receiver
 * easier to operate.
 */
export type AuditLevel = "MUST" | "SHOULD";

/** Why an audit failed, described for the receiver's owner. It never contains the shared secret. */
export interface AuditFailure {
  /** What is wrong, in a few words: `its secret is a different one`, or `answered 500`. */
  readonly cause: string;
  /** What was sent. */
  readonly sent: string;
  /** What a correct receiver does with it. */
  readonly expected: string;
  /** What this receiver did. */
  readonly received: string;
  /** What to change in the receiver, in terms of {@link ProbeOptions.language} if it is given. */
  readonly fix: string;
}

/** One rule for receivers. */
export interface Audit {
  /** Stable name, in lower case with hyphens: `rejects-tampered-body`. */
  readonly id: string;
  readonly level: AuditLevel;
  /** The rule in one sentence. */
  readonly title: string;
  /** The ids of the audits that must pass for this one to mean anything. {@link certify} skips it if one of them fails. */
  readonly needs?: readonly string[];
  /** It loads the receiver, or checks what the audits before it have seen. {@link certify} runs no other beside it. */
  readonly alone?: true;
  /**
   * Checks the receiver that the probe talks to.
   *
   * @returns Nothing if the receiver follows the rule, otherwise why not. It rejects only when the probe's signal aborts.
   */
  run(probe: Probe): Promise<AuditFailure | undefined>;
}
