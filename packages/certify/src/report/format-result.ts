import type { AuditFailure } from "../audits/audit.ts";
import type { AuditResult, Report, Tally } from "./report.ts";

const MARKS = { passed: "✓", failed: "✗", skipped: "-" } as const;

/**
 * One result as text for a person. A failure has its cause in the first line, and below it what was sent, what was expected,
 * what came back and how to fix it. Without colours and without a line break at the end.
 *
 * @example
 * ```ts
 * await certify({ url, secret, onResult: (result) => console.log(formatResult(result)) });
 * ```
 */
export function formatResult(result: AuditResult): string {
  const line = `${MARKS[result.outcome]} ${result.level.padEnd(6)} ${result.title} (${result.id})`;
  if (result.outcome === "skipped") return `${line}\n    skipped: ${result.reason}`;
  if (result.outcome === "passed") return line;
  return `${line}: ${result.failure.cause}\n${formatFailure(result.failure, "    ")}`;
}

/**
 * The end of a report as text for a person: for each reason how many audits were skipped, then how many passed of each level.
 *
 * @example
 * ```ts
 * console.log(formatSummary(report)); // "MUST 46 of 46, SHOULD 11 of 14, in 3.1 s: passed"
 * ```
 */
export function formatSummary({ tally, durationMs, passed, results }: Report): string {
  const skipped = new Map<string, number>();
  for (const result of results) {
    if (result.outcome === "skipped") skipped.set(result.reason, (skipped.get(result.reason) ?? 0) + 1);
  }
  const reasons = [...skipped].map(
    ([reason, count]) => `- ${count} ${count === 1 ? "audit" : "audits"} skipped: ${reason}`,
  );
  const levels = (["MUST", "SHOULD"] as const)
    .filter((level) => total(tally[level]) > 0)
    .map((level) => `${level} ${tally[level].passed} of ${total(tally[level])}`);
  const verdict = passed ? "passed" : "failed";
  return [...reasons, `${levels.join(", ")}, in ${(durationMs / 1000).toFixed(1)} s: ${verdict}`].join("\n");
}

/** A failure in four labelled lines. */
export function formatFailure({ sent, expected, received, fix }: AuditFailure, indent = ""): string {
  return Object.entries({ sent, expected, received, fix })
    .map(([label, text]) => `${indent}${`${label}:`.padEnd(10)}${text}`)
    .join("\n");
}

function total({ passed, failed, skipped }: Tally): number {
  return passed + failed + skipped;
}
