import { ValidationError, type CallRule } from "@countersign/protocol";

/**
 * | code | meaning |
 * |---|---|
 * | `ERR_FIELD_MISSING` | a required field is absent, null or empty |
 * | `ERR_FIELD_INVALID` | a field has the wrong kind, or the call is not an object |
 * | `ERR_FIELD_UNKNOWN` | a field that this type of call does not have; its data would be lost |
 * | `ERR_NOT_SERIALIZABLE` | a value that JSON cannot represent, such as a BigInt, or more than 500 levels |
 * | `ERR_CALL_TOO_LARGE` | more than 32 KiB (spec 8) |
 * | `ERR_NAME_TAKEN` | an audience or computed trait whose snake_case name belongs to another one |
 * | `ERR_UNKNOWN_SOURCE` | no source has this name or write key, or there are several and none was named |
 */
export type CallErrorCode =
  | "ERR_FIELD_MISSING"
  | "ERR_FIELD_INVALID"
  | "ERR_FIELD_UNKNOWN"
  | "ERR_NOT_SERIALIZABLE"
  | "ERR_CALL_TOO_LARGE"
  | "ERR_NAME_TAKEN"
  | "ERR_UNKNOWN_SOURCE";

/** A call that is not valid. No part of it was accepted. */
export class CallError extends TypeError {
  override readonly name = "CallError";
  /** Stable, for programs. */
  readonly code: CallErrorCode;
  /** The field at fault, as a path such as `properties.items.0`, if one is. */
  readonly field: string | undefined;

  constructor(
    code: CallErrorCode,
    message: string,
    options: { field?: string | undefined; cause?: unknown } = {},
  ) {
    super(message, options.cause === undefined ? {} : { cause: options.cause });
    this.code = code;
    this.field = options.field;
  }
}

const CODES: Readonly<Record<CallRule, CallErrorCode>> = {
  not_an_object: "ERR_FIELD_INVALID",
  unknown_field: "ERR_FIELD_UNKNOWN",
  invalid_field: "ERR_FIELD_INVALID",
  no_user_anon_id: "ERR_FIELD_MISSING",
  missing_user_id: "ERR_FIELD_MISSING",
  missing_previous_id: "ERR_FIELD_MISSING",
  missing_event: "ERR_FIELD_MISSING",
  missing_group_id: "ERR_FIELD_MISSING",
  invalid_timestamp: "ERR_FIELD_INVALID",
  message_id_too_long: "ERR_FIELD_INVALID",
  not_json: "ERR_NOT_SERIALIZABLE",
  nested_too_deeply: "ERR_NOT_SERIALIZABLE",
  message_too_large: "ERR_CALL_TOO_LARGE",
};

/** What protocol says of a call, as the sender's error. */
export function callErrorOf(error: unknown): unknown {
  if (!(error instanceof ValidationError)) return error;
  const { rule, field, message, cause } = error;
  return new CallError(CODES[rule], message, { field, cause });
}
