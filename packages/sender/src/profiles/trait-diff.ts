import { messageOf } from "@countersign/protocol";
import { CallError } from "../calls/call-error.ts";

/** A user whose trait has another value than what was last made known. */
export interface TraitChange {
  readonly userId: string;
  /** The value to send. */
  readonly value: unknown;
  /** JSON text of the value to remember; null to forget the user. */
  readonly stored: string | null;
}

/** Who joined and who left an audience, given what is known of it: user to `true`. */
export function audienceChanges(
  known: ReadonlyMap<string, string>,
  members: ReadonlySet<string>,
): TraitChange[] {
  const joined = [...members].filter((userId) => !known.has(userId));
  const left = [...known.keys()].filter((userId) => !members.has(userId));
  return [
    ...joined.map((userId) => ({ userId, value: true, stored: "true" })),
    ...left.map((userId) => ({ userId, value: false, stored: null })),
  ];
}

/**
 * Whose computed trait changed, given what is known of it. Null takes the trait away.
 *
 * @throws CallError when JSON cannot carry a value
 */
export function traitChanges(
  known: ReadonlyMap<string, string>,
  values: ReadonlyMap<string, unknown>,
): TraitChange[] {
  const changes: TraitChange[] = [];
  for (const [userId, value] of values) {
    const stored = value === null || value === undefined ? null : jsonOf(value, userId);
    if (stored === (known.get(userId) ?? null)) continue;
    changes.push({ userId, value: value ?? null, stored });
  }
  return changes;
}

function jsonOf(value: unknown, userId: string): string {
  const fail = (reason: string, cause?: unknown): never => {
    throw new CallError(
      "ERR_NOT_SERIALIZABLE",
      `syncComputedTrait() was given a value for user ${JSON.stringify(userId)} that JSON cannot represent: ${reason}`,
      { cause },
    );
  };
  let text: string | undefined;
  try {
    text = JSON.stringify(value);
  } catch (cause) {
    return fail(messageOf(cause), cause);
  }
  return text ?? fail(`a ${typeof value}.`);
}

/**
 * A name in snake_case, as audiences and computed traits are sent (spec 6): `"Big Spenders"` is
 * `big_spenders`, `"highValueUSCustomer"` is `high_value_us_customer`. Letters and digits of every script are kept.
 */
export function snakeCase(name: string): string {
  return name
    .normalize("NFC")
    .replaceAll(/(\p{Ll}|\p{N})(\p{Lu})/gu, "$1_$2")
    .replaceAll(/(\p{Lu})(\p{Lu}\p{Ll})/gu, "$1_$2")
    .replaceAll(/[^\p{L}\p{M}\p{N}]+/gu, "_")
    .replaceAll(/^_+|_+$/g, "")
    .toLowerCase();
}
