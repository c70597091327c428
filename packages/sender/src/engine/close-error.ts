/**
 * | code | meaning | what to do |
 * |---|---|---|
 * | `ERR_CLOSE_LATE` | it did not close by the deadline, and was left behind | give a longer deadline; a store keeps what was accepted |
 * | `ERR_CLOSE_FAILED` | it threw what is no error; `cause` is that | see the message |
 */
export type CloseErrorCode = "ERR_CLOSE_LATE" | "ERR_CLOSE_FAILED";

/** A part of the sender did not close. Everything else is closed. A part that throws an error of its own has that one thrown instead. */
export class CloseError extends Error {
  override readonly name = "CloseError";
  /** Stable, for programs. */
  readonly code: CloseErrorCode;
  /** Which part. */
  readonly part: "transport" | "store";

  constructor(code: CloseErrorCode, part: CloseError["part"], message: string, cause?: unknown) {
    super(`close(): the ${part} ${message}`, cause === undefined ? {} : { cause });
    this.code = code;
    this.part = part;
  }
}
