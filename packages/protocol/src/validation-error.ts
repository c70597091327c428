/**
 * A rule that a call can break.
 *
 * | rule | broken by |
 * |---|---|
 * | `not_an_object` | a call that is not an object |
 * | `unknown_field` | a field that this type of call does not have |
 * | `invalid_field` | a field of the wrong kind, or one that does not match the schema of its event |
 * | `no_user_anon_id` | neither a `userId` nor an `anonymousId` |
 * | `missing_user_id`, `missing_previous_id` | an alias without one of its two ids |
 * | `missing_event`, `missing_group_id` | a track call without `event`, a group call without `groupId` |
 * | `invalid_timestamp` | a `timestamp` that is not a time |
 * | `message_id_too_long` | a `messageId` of 100 characters or more |
 * | `not_json` | a value that JSON cannot represent, or code of the program that threw, such as a getter, `toJSON` or `ids` |
 * | `nested_too_deeply` | more than 500 levels |
 * | `message_too_large` | more than 32 KiB |
 */
export type CallRule =
  | "not_an_object"
  | "unknown_field"
  | "invalid_field"
  | "no_user_anon_id"
  | "missing_user_id"
  | "missing_previous_id"
  | "missing_event"
  | "missing_group_id"
  | "invalid_timestamp"
  | "message_id_too_long"
  | "not_json"
  | "nested_too_deeply"
  | "message_too_large";

/**
 * A call cannot be recorded: a required field is missing, a field has the wrong type, or JSON cannot
 * represent a value. The call itself throws it, and no part of the call was queued. The messages for missing
 * fields are those of the Go library (spec 2.3, 7).
 *
 * @example
 * ```ts
 * import { Analytics } from "@countersign/client";
 *
 * const analytics = new Analytics("WRITE_KEY");
 * try {
 *   analytics.track({ userId: "u1", event: "" });
 * } catch (error) {
 *   if (error instanceof ValidationError) console.warn(error.field, error.message); // event You must pass 'event'.
 * }
 * ```
 */
export class ValidationError extends TypeError {
  override readonly name = "ValidationError";
  /** The rule that the call breaks. Stable, for programs. */
  readonly rule: CallRule;
  /** The field at fault, as a path such as `properties.items.0.price`; `undefined` for the call as a whole. */
  readonly field: string | undefined;

  /**
   * @param rule - The rule that the call breaks.
   * @param field - The field at fault, or `undefined` for the call as a whole.
   * @param message - What is wrong and what to do.
   * @param cause - The exception behind it, if there is one.
   */
  constructor(rule: CallRule, field: string | undefined, message: string, cause?: unknown) {
    super(message, cause === undefined ? undefined : { cause });
    this.rule = rule;
    this.field = field;
  }
}
