import { isObject } from "@countersign/protocol";
import { pointerPart, Problem, type ProblemIssue } from "./problem.ts";

/** What Ajv says of one mistake. */
interface SchemaError {
  readonly keyword: string;
  readonly instancePath: string;
  readonly message?: string;
  readonly params: Readonly<Record<string, unknown>>;
}

/** More mistakes than this do not help, and a hostile body can have millions. */
const MAX_ERRORS = 50;

/** Keywords that only say that one of their branches failed: the branches say why. */
const COMBINING: ReadonlySet<string> = new Set(["anyOf", "oneOf", "allOf", "if"]);

/** The problem of a request in which the schemas of an operation found mistakes; undefined for any other error. */
export function validationProblem(error: unknown): Problem | undefined {
  if (!isObject(error) || !Array.isArray(error["validation"])) return undefined;
  const found = (error["validation"] as readonly SchemaError[]).slice(0, MAX_ERRORS);
  const telling = found.filter(({ keyword }) => !COMBINING.has(keyword));
  const inQuery = error["validationContext"] === "querystring";
  const errors = withoutRepeats((telling.length > 0 ? telling : found).map((one) => issueOf(one, inQuery)));
  const lines = errors.map(
    ({ pointer, parameter, detail }) => `${parameter ?? (pointer || "The body")} ${detail}`,
  );
  return new Problem(400, lines.join(" "), errors);
}

function issueOf(
  { keyword, instancePath, message = "is not valid", params }: SchemaError,
  inQuery: boolean,
): ProblemIssue {
  const named = params["additionalProperty"] ?? params["missingProperty"];
  const pointer = typeof named === "string" ? `${instancePath}/${pointerPart(named)}` : instancePath;
  const detail = sentence(keyword, message, params);
  return inQuery ? { parameter: pointer.split("/")[1] ?? "", detail } : { pointer, detail };
}

function sentence(keyword: string, message: string, params: SchemaError["params"]): string {
  switch (keyword) {
    case "additionalProperties":
      return "is unknown.";
    case "required":
      return "is missing.";
    case "enum":
      return `must be one of: ${(params["allowedValues"] as readonly unknown[]).join(", ")}.`;
    case "const":
      return `must be ${JSON.stringify(params["allowedValue"])}.`;
    case "format":
      return params["format"] === "date-time"
        ? "must be a date and time such as 2026-01-31T08:30:00Z."
        : `${message}.`;
    default:
      return `${message}.`;
  }
}

/** A value that fits none of several types has an error for each. */
function withoutRepeats(errors: readonly ProblemIssue[]): readonly ProblemIssue[] {
  const merged = new Map<string, ProblemIssue>();
  for (const error of errors) {
    const key = error.parameter ?? error.pointer ?? "";
    const known = merged.get(key);
    const detail = known ? `${known.detail.slice(0, -1)}, or ${error.detail}` : error.detail;
    if (known?.detail.includes(error.detail.slice(0, -1))) continue;
    merged.set(key, { ...error, detail });
  }
  return [...merged.values()];
}
