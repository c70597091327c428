/** A reason why a signature differs. Each {@link Diagnosis} says what to do about it. */
export type DiagnosisCode =
  | "secret-white-space"
  | "secret-quotes"
  | "empty-secret"
  | "retired-secret"
  | "prefixed-signature"
  | "sha256"
  | "base64"
  | "re-serialized"
  | "pretty-printed"
  | "trailing-newline"
  | "first-of-array"
  | "empty-body"
  | "serialized-bytes"
  | "parsed-before";

/** One cause of a mismatch. Several together explain a signature that differs in several ways. */
export interface Diagnosis {
  readonly code: DiagnosisCode;
  /** For the operator: what is wrong, and what to change. */
  readonly message: string;
}
