import { aliasIdentity } from "@countersign/core";
import { sampleMessages } from "@countersign/core/testing";
import { CALL_FIELDS } from "@countersign/protocol";
import type { DestinationSettings, MessageType } from "@countersign/sender";

/** The seven message types, in the order of their documentation. */
export const MESSAGE_TYPES: readonly MessageType[] = [
  "track",
  "page",
  "screen",
  "identify",
  "alias",
  "group",
  "delete",
];

/** What a destination can include in its messages. */
type Includable = NonNullable<DestinationSettings["includeFields"]>[number];

/** What a message can say of its way here, as those of the service do. No call has it. */
const ARRIVAL_FIELDS: Readonly<Record<Exclude<Includable, "integrations">, true>> = {
  channel: true,
  originalTimestamp: true,
  sentAt: true,
  receivedAt: true,
};

/** A call as free-form fields; the sender checks them. */
export type SampleCall = Record<string, unknown>;

/**
 * A complete call of a type, with values that look real (spec 2.2).
 *
 * @example
 * ```ts
 * sampleCall("alias"); // { previousId: "...", userId: "..." }
 * ```
 */
export function sampleCall(type: MessageType): SampleCall {
  if (type === "alias") return { ...aliasIdentity(sampleMessages.alias) };
  const sample: object = structuredClone(sampleMessages[type]);
  return Object.fromEntries(
    Object.entries(sample).filter(
      ([field]) => !["version", "type", "messageId", "timestamp"].includes(field),
    ),
  );
}

/**
 * The call that a message came from, so that a message from a log or a test can be sent: without `version`, `type` and what says
 * how it arrived, and with the identities of an alias as a call spells them.
 */
export function callOfMessage(type: MessageType, message: Readonly<Record<string, unknown>>): SampleCall {
  const { version: _, type: __, "Previous ID": previousId, "User ID": userId, ...others } = message;
  const fields = Object.fromEntries(
    Object.entries(others).filter(([name]) => !Object.hasOwn(ARRIVAL_FIELDS, name)),
  );
  if (type !== "alias") return fields;
  return {
    ...(previousId !== undefined && { previousId }),
    ...(userId !== undefined && { userId }),
    ...fields,
  };
}

/** The fields that can be set on a call of a type. */
function fieldsOf(type: MessageType): readonly string[] {
  return type === "delete" ? ["userId", "timestamp"] : Object.keys(CALL_FIELDS[type]);
}

/** @throws SetError when a call of the type has no such field. */
export function assertField(type: MessageType, name: string): void {
  if (fieldsOf(type).includes(name)) return;
  throw new SetError(
    `${/^[ai]/.test(type) ? "An" : "A"} ${type} call has no field \`${name}\`. Its fields are ${fieldsOf(type).join(", ")}.`,
  );
}

/** `path=value` cannot be followed. The message says why. */
export class SetError extends Error {
  override readonly name = "SetError";
}

/**
 * Sets a value inside a call, making objects on the way.
 *
 * @param assignment `properties.plan=pro`. A dot inside a name is written `\.`. A value that is JSON is read as JSON, so
 *   `properties.price=9.5` is a number; quotes keep it text: `'properties.zip="01234"'`.
 * @throws SetError when the path leads nowhere.
 * @example
 * ```ts
 * const call = sampleCall("track");
 * setField("track", call, "properties.plan=pro");
 * ```
 */
export function setField(type: MessageType, call: SampleCall, assignment: string): void {
  const equals = assignment.indexOf("=");
  if (equals < 1)
    throw new SetError(`\`${assignment}\` is not PATH=VALUE. Write for example: --set userId=u1`);
  const path = assignment.slice(0, equals);
  const names = path.split(/(?<!\\)\./).map((name) => name.replaceAll("\\.", "."));
  const [root = ""] = names;
  const last = names.pop() ?? "";
  assertField(type, root);
  let at: SampleCall = call;
  for (const name of names) {
    const next = Object.hasOwn(at, name) ? at[name] : define(at, name, {});
    if (typeof next !== "object" || next === null)
      throw new SetError(`\`${path}\` leads through \`${name}\`, which is not an object.`);
    at = next as SampleCall;
  }
  define(at, last, parsed(assignment.slice(equals + 1)));
}

/** Assignment would call a setter for `__proto__`, which is a name like any other here. */
function define(target: SampleCall, name: string, value: unknown): unknown {
  Object.defineProperty(target, name, { value, enumerable: true, configurable: true, writable: true });
  return value;
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return text;
  }
}
