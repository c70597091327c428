import type { Schema, Schemas } from "../operation.ts";
import { TEXT, BASE64, object } from "./parts.ts";

/** Why a signature does not match. */
export const verifySchemas: Schemas = {
  Explanation: object(
    {
      matches: { type: "boolean" },
      sentence: TEXT,
      diagnoses: { type: "array", items: object({ code: TEXT, message: TEXT }) },
      expected: {
        type: "string",
        description: "The right signature; not for a body with a destination's secret.",
      },
    },
    ["expected"],
  ),
};

export const VERIFY_BODY: Schema = object(
  {
    body: TEXT,
    bodyBase64: BASE64,
    signature: { type: "string", description: "Value of the X-Signature header." },
    secret: { type: "string", minLength: 1 },
    destination: { type: "string", description: "Its secret is used: `<source>/<destination>`." },
    delivery: {
      type: "string",
      description: "Id of a delivery: its body, its secret, the signature as sent.",
    },
    attempt: {
      type: "integer",
      minimum: 0,
      description: "Its place in the delivery's history, from 0. Default: the last.",
    },
  },
  ["body", "bodyBase64", "signature", "secret", "destination", "delivery", "attempt"],
);
