/**
 * | code | meaning |
 * |---|---|
 * | `ERR_FIELD_MISSING` | a required field is absent, null or empty |
 * | `ERR_FIELD_INVALID` | a field has the wrong kind |
 * | `ERR_NOT_SERIALIZABLE` | a value that JSON cannot carry: circular, BigInt |
 * | `ERR_CALL_TOO_LARGE` | over 32 KiB (spec section 8) |
 * | `ERR_UNKNOWN_SOURCE` | no source has this name or write key, or there are several and none was named |
 */
export type CallErrorCode =
  | "ERR_FIELD_MISSING"
  | "ERR_FIELD_INVALID"
  | "ERR_NOT_SERIALIZABLE"
  | "ERR_CALL_TOO_LARGE"
  | "ERR_UNKNOWN_SOURCE";

/** A call that is not valid. Nothing of it was accepted. */
export class CallError extends TypeError {
  override readonly name = "CallError";
  /** Stable, for programs. */
  readonly code: CallErrorCode;
  /** Which field of the call is wrong, when it is one. */
  readonly field: string | undefined;

  constructor(code: CallErrorCode, message: string, options: { field?: string; cause?: unknown } = {}) {
    super(message, options.cause === undefined ? {} : { cause: options.cause });
    this.code = code;
    this.field = options.field;
  }
}
