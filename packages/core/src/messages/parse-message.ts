import { WebhookError } from "../errors.ts";
import { checkCommonFields, checkMessage } from "./message-fields.ts";
import type { UnknownMessage, WebhookMessage } from "./messages.ts";

/**
 * Checks that a parsed JSON value is a message, and types it. The result is the same object: nothing is copied, dropped or
 * renamed (spec 2.2).
 *
 * @param value - A result of `JSON.parse`.
 * @throws WebhookError `ERR_BATCH_UNSUPPORTED` for an array, `ERR_UNKNOWN_TYPE` for a type that is not one of the seven,
 *   `ERR_INVALID_MESSAGE` naming the field that is wrong.
 * @example
 * ```ts
 * const message = parseMessage(JSON.parse(text));
 * if (message.type === "track") console.log(message.event);
 * ```
 */
export function parseMessage(value: unknown): WebhookMessage;
/** The same. With `allowUnknownTypes`, an object of another type is an {@link UnknownMessage}. */
export function parseMessage(
  value: unknown,
  options: { readonly allowUnknownTypes?: boolean | undefined },
): WebhookMessage | UnknownMessage;
export function parseMessage(
  value: unknown,
  options: { readonly allowUnknownTypes?: boolean | undefined } = {},
): WebhookMessage | UnknownMessage {
  let fault = checkMessage(value);
  if (fault === undefined) return value as WebhookMessage;
  if (fault.code === "ERR_UNKNOWN_TYPE" && options.allowUnknownTypes) {
    fault = checkCommonFields(value);
    if (fault === undefined) return value as UnknownMessage;
  }
  throw new WebhookError(fault.code, fault);
}
