import { ref, type Schemas } from "../operation.ts";
import { TEXT, COUNT, object } from "./parts.ts";

/** The answer of an operation that fails (RFC 9457). */
export const problemSchemas: Schemas = {
  Problem: object(
    { type: TEXT, title: TEXT, status: COUNT, detail: TEXT, errors: { type: "array", items: ref("Issue") } },
    ["errors"],
  ),
  Issue: object(
    {
      pointer: {
        type: "string",
        description: "Where in the body, as a JSON pointer; empty for the whole of it.",
      },
      parameter: { type: "string", description: "Which parameter of the query string." },
      detail: TEXT,
      rule: { type: "string", description: "The rule that a call breaks, as in the rejections." },
    },
    ["pointer", "parameter", "rule"],
  ),
};
