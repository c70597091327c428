import assert from "node:assert/strict";
import { isMessage, parseMessage, WebhookError } from "@countersign/core";
import { parseJson } from "@countersign/protocol";
import { messageSchema } from "@countersign/core/schemas";
import { sampleMessages } from "@countersign/core/testing";
import { Ajv2020 } from "ajv/dist/2020.js";
import fc from "fast-check";
import { fuzzTarget, type FuzzTarget } from "./harness.ts";
import { jsonValue } from "./json-values.ts";

interface TypeSchema {
  readonly properties: Readonly<Record<string, { readonly properties?: object }>>;
}

const union = messageSchema() as unknown as { readonly $defs: Readonly<Record<string, TypeSchema>> };
const validate = new Ajv2020({ allErrors: false }).compile(union);

/** Every field that the published schema names, and names that it does not. */
const FIELDS = [
  ...new Set(Object.values(union.$defs).flatMap(({ properties }) => Object.keys(properties))),
  "__proto__",
  "constructor",
  "toString",
  "hasOwnProperty",
  "Type",
  "",
  "unlisted",
];

const value: fc.Arbitrary<unknown> = fc.oneof(
  fc.constantFrom<unknown>(null, "", "text", 0, -0, 1.5, true, [], ["a"], {}, ...Object.keys(sampleMessages)),
  fc.dictionary(fc.constantFrom("path", "referrer", "title", "url", "other", "__proto__"), jsonValue, {
    maxKeys: 3,
  }),
  jsonValue,
);

type Edit = readonly [name: string, value: unknown, remove: boolean];

/** A sample with a few fields replaced, added or removed: about as often well formed as not. */
const edited = fc
  .tuple(
    fc.constantFrom<object>(...Object.values(sampleMessages)),
    fc.array(fc.tuple(fc.constantFrom(...FIELDS), value, fc.boolean()) as fc.Arbitrary<Edit>, {
      maxLength: 4,
    }),
  )
  .map(([sample, edits]) => {
    const message: Record<string, unknown> = { ...sample };
    for (const [name, value, remove] of edits) {
      if (remove) delete message[name];
      // Defined, not assigned: a key named __proto__ is a field like any other in JSON.
      else
        Object.defineProperty(message, name, { value, enumerable: true, configurable: true, writable: true });
    }
    return message;
  });

/** A text of JSON: what a receiver has verified before it parses. */
const text = fc
  .oneof({ weight: 9, arbitrary: edited }, { weight: 1, arbitrary: jsonValue })
  .map((message) => JSON.stringify(message));

/** `parseMessage` accepts what the published JSON Schema accepts, as another validator reads it; and copies nothing. */
const parser = fuzzTarget({
  name: "parser against the schema",
  share: 160,
  input: text,
  check(json) {
    const message = parseJson(json);
    const accepted = outcome(() => parseMessage(message));
    assert.equal(accepted === message, validate(message), describe(accepted));
    assert.equal(isMessage(message), accepted === message);
    assert.equal(JSON.stringify(message), json, "parsing changed the message");
    // An unknown type is let through on request; nothing else is.
    if (accepted instanceof WebhookError && accepted.code !== "ERR_UNKNOWN_TYPE") {
      assert.ok(outcome(() => parseMessage(message, { allowUnknownTypes: true })) instanceof WebhookError);
    }
  },
});

/** What a function gave, or the coded error it threw. Anything else that it throws is a fault. */
function outcome(parse: () => unknown): unknown {
  try {
    return parse();
  } catch (error) {
    if (error instanceof WebhookError) return error;
    throw error;
  }
}

function describe(accepted: unknown): string {
  return accepted instanceof WebhookError
    ? `refused: ${accepted.message}`
    : "accepted, though the schema refuses it";
}

export const messageTargets: readonly FuzzTarget[] = [parser];
