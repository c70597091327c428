import { isObject, type CallType } from "@countersign/protocol";

/** Forms in which published clients deviate from the documented format, with the same meaning. */

type Fields = Readonly<Record<string, unknown>>;

/** An object field as its client means it: an empty object of PHP is written `[]`. `undefined` for anything else. */
export function readObject(value: unknown): Record<string, unknown> | undefined {
  if (isObject(value)) return value;
  return Array.isArray(value) && value.length === 0 ? {} : undefined;
}

/**
 * `integrations` under the documented name of its switch: analytics-go writes `{"all": false}` for `DisableAll()`. Only this
 * key is meant; the names of destinations are case-sensitive (spec 6).
 */
export function withDocumentedAll(integrations: Fields): Fields {
  if (typeof integrations["all"] !== "boolean" || Object.hasOwn(integrations, "All")) return integrations;
  const { all, ...others } = integrations;
  return { ...others, All: all };
}

/** The traits of a call: Rudder's browser libraries and older Python clients put those of identify calls into `context`. */
export function readTraits(
  type: CallType,
  traits: Record<string, unknown> | undefined,
  context: Fields | undefined,
): Record<string, unknown> | undefined {
  if (type !== "identify" || (traits !== undefined && Object.keys(traits).length > 0)) return traits;
  return readObject(context?.["traits"]) ?? traits;
}

/** When a call was made, as its client says: an explicit time, then the time at which the client recorded it. */
export function readGivenTime(message: Fields): unknown {
  const { timestamp, originalTimestamp } = message;
  return timestamp === undefined || timestamp === null || timestamp === "" ? originalTimestamp : timestamp;
}
