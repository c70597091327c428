import type { Diagnosis, ReceivedMessage } from "@countersign/core";
import type { AttemptResult } from "@countersign/sender";

/** A request that {@link listen} received, and its result. */
export interface Heard {
  /** When it arrived, ISO 8601. */
  readonly at: string;
  /**
   * Whether it is from the holder of the secret: `unsigned` without a secret to verify with, `rejected` if its signature is
   * wrong or it is no webhook at all.
   */
  readonly verdict: "verified" | "unsigned" | "rejected";
  /** The status it was answered with. */
  readonly status: number;
  /** The message, if its body is a webhook message. */
  readonly message?: ReceivedMessage | undefined;
  /** The exact bytes of its body, if they were read. */
  readonly body?: Uint8Array | undefined;
  /** Why it is not accepted: the code, and what to do about it. An authentic message can be malformed. */
  readonly problem?: { readonly code: string; readonly text: string } | undefined;
  /** Why its signature does not match, if a usual cause explains it. */
  readonly diagnoses: readonly Diagnosis[];
  /** The answer of the receiver to which it was forwarded. */
  readonly forwarded?: AttemptResult | undefined;
}
