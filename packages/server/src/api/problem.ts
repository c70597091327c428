import type { SettingsError } from "@countersign/sender";

/** One thing that is wrong with a request. */
export interface ProblemIssue {
  /** Where in the body: a JSON pointer (RFC 6901), empty for the whole of it. */
  readonly pointer?: string;
  /** Which parameter of the query string. */
  readonly parameter?: string;
  /** What is wrong, and what to do. */
  readonly detail: string;
  /** The rule that a call breaks, as in `/api/rejections`. */
  readonly rule?: string;
}

/** An answer of the control API that is an error (RFC 9457). */
export class Problem extends Error {
  override readonly name = "Problem";
  readonly status: number;
  readonly errors: readonly ProblemIssue[] | undefined;

  /**
   * @param detail What was wrong and what to do, for the caller to read.
   * @param errors Each thing that is wrong, for a program to show where it is.
   */
  constructor(status: number, detail: string, errors?: readonly ProblemIssue[]) {
    super(detail);
    this.status = status;
    this.errors = errors;
  }
}

/** The problem of one place in a request. */
export function problemAt(
  place: Pick<ProblemIssue, "pointer" | "parameter">,
  detail: string,
  status = 422,
): Problem {
  return new Problem(status, detail, [{ ...place, detail }]);
}

/**
 * Refuses fields besides another one that says the same: which of them counts would be a guess.
 *
 * @throws Problem naming the first of them.
 */
export function assertWithout<Body extends object>(
  body: Body,
  fields: readonly (keyof Body & string)[],
  besides: keyof Body & string,
): void {
  const given = fields.find((field) => body[field] !== undefined);
  if (given === undefined) return;
  throw problemAt({ pointer: `/${given}` }, `Give \`${given}\` or \`${besides}\`, not both.`);
}

/**
 * What was asked for.
 *
 * @throws Problem 404 with `detail` if there is none.
 */
export function found<T>(value: T | undefined, detail: string): T {
  if (value === undefined) throw new Problem(404, detail);
  return value;
}

/**
 * The problem of settings that are not valid.
 *
 * @param prefix Where in the settings the body stands, such as `sources[0].destinations[1]`.
 */
export function settingsProblem({ message, issues }: SettingsError, prefix: string): Problem {
  const errors = issues.map(({ path, where, problem }) =>
    path.startsWith(prefix)
      ? { pointer: pointerOf(path.slice(prefix.length)), detail: problem }
      : { pointer: "", detail: `${where}: ${path} ${problem}` },
  );
  return new Problem(422, message, errors);
}

/** A path such as `.endpoints[0].url` as a JSON pointer. */
export function pointerOf(path: string): string {
  const parts = path.split(/[.[\]]+/).filter((part) => part !== "");
  return parts.map((part) => `/${pointerPart(part)}`).join("");
}

/** A name as a part of a JSON pointer. */
export function pointerPart(name: string): string {
  return name.replaceAll("~", "~0").replaceAll("/", "~1");
}
