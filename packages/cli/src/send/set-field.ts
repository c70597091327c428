import { CALL_FIELDS, parseJson } from "@countersign/protocol";
import type { MessageType } from "@countersign/sender";
import type { SampleCall } from "./sample-call.ts";

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
    return parseJson(text);
  } catch {
    return text;
  }
}
