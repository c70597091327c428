/** Something was asked of a sender that is closed, or waited for until it was. */
export class SenderClosedError extends Error {
  override readonly name = "SenderClosedError";
  /** Stable, for programs. */
  readonly code = "ERR_SENDER_CLOSED";
}
