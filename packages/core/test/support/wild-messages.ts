import type { MessageType } from "@countersign/core";
import { sampleMessages } from "@countersign/core/testing";
import fc from "fast-check";
import { MESSAGE_RULES } from "../../src/messages/message-fields.ts";

const types = Object.keys(MESSAGE_RULES) as MessageType[];
const names = [
  ...new Set(types.flatMap((type) => Object.keys(MESSAGE_RULES[type].fields))),
  "type",
  "__proto__",
  "constructor",
  "toString",
  "unlisted",
  "",
];
const pageProperties = fc.dictionary(
  fc.constantFrom("path", "referrer", "title", "url", "other", "__proto__"),
  fc.constantFrom<unknown>(null, "", "/a", 7, false, [], {}),
);
const value = fc.oneof(
  fc.constantFrom<unknown>(null, "", "text", 0, -0, 1.5, true, [], ["a"], {}, undefined, ...types),
  pageProperties,
  fc.jsonValue(),
);

/** One of the seven samples with up to four of its fields replaced, added or removed: as often well formed as not. */
const mutated = fc
  .tuple(fc.constantFrom(...types), fc.array(fc.tuple(fc.constantFrom(...names), value), { maxLength: 4 }))
  .map(([type, changes]) => {
    const message: Record<string, unknown> = { ...sampleMessages[type] };
    for (const [name, value] of changes) {
      // Defined and not assigned: a key named __proto__ is to be a field like any other.
      Object.defineProperty(message, name, { value, enumerable: true, configurable: true, writable: true });
    }
    return message;
  });

/** What a parsed body may be: messages that are nearly right, and any other JSON. */
export const wildMessage: fc.Arbitrary<unknown> = fc
  .oneof({ weight: 9, arbitrary: mutated }, { weight: 1, arbitrary: fc.jsonValue() })
  .map((value) => JSON.parse(JSON.stringify(value)) as unknown);
