import type { AuditFailure } from "../audits/audit.ts";
import type { AuditResult, Report, Tally } from "./report.ts";

const MARKS = { passed: "✓", failed: "✗", skipped: "-" } as const;

/**
 * One result as text for a person: one line, and for a failure what was sent, what should have come back, what did,
 * and how to fix it. Without colours and without a line break at the end.
 *
 * @example
 * ```ts
 * await certify({ url, secret, onResult: (result) => console.log(formatResult(result)) });
 * ```
 */
export function formatResult(result: AuditResult): string {
  const line = `${MARKS[result.outcome]} ${result.level.padEnd(6)} ${result.title} (${result.id})`;
  if (result.outcome === "skipped") return `${line}\n    skipped: ${result.reason}`;
  if (result.outcome === "failed") return `${line}\n${formatFailure(result.failure, "    ")}`;
  return line;
}

/**
 * A report's last line as text for a person: how many audits of each level passed.
 *
 * @example
 * ```ts
 * console.log(formatSummary(report)); // "MUST 42 of 42, SHOULD 11 of 14, in 3.1 s: passed"
 * ```
 */
export function formatSummary({ tally, durationMs, passed }: Report): string {
  const levels = (["MUST", "SHOULD"] as const)
    .filter((level) => total(tally[level]) > 0)
    .map((level) => `${level} ${tally[level].passed} of ${total(tally[level])}`);
  return `${levels.join(", ")}, in ${(durationMs / 1000).toFixed(1)} s: ${passed ? "passed" : "failed"}`;
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
