import type { AuditFailure, AuditLevel } from "../audits/audit.ts";

interface AuditedRule {
  readonly id: string;
  readonly level: AuditLevel;
  readonly title: string;
  readonly durationMs: number;
}

/** The result of one audit. */
export type AuditResult =
  | (AuditedRule & { readonly outcome: "passed" })
  | (AuditedRule & { readonly outcome: "failed"; readonly failure: AuditFailure })
  /** Not run: it would have meant nothing after another failure, or the time was over. A skipped MUST is a MUST not met. */
  | (AuditedRule & { readonly outcome: "skipped"; readonly reason: string });

/** How many audits of one level ended in which way. */
export interface Tally {
  readonly passed: number;
  readonly failed: number;
  readonly skipped: number;
}

/** The result of {@link certify}. Plain data: `JSON.stringify` writes all of it. */
export interface Report {
  /** Where the receiver is, without the query. */
  readonly url: string;
  /** Whether every MUST among the results passed. A skipped one has not. */
  readonly passed: boolean;
  /** ISO 8601, UTC. */
  readonly startedAt: string;
  readonly durationMs: number;
  readonly tally: Readonly<Record<AuditLevel, Tally>>;
  /** In the order of {@link audits}. */
  readonly results: readonly AuditResult[];
}

export function toReport(
  url: URL,
  { startedAt, durationMs }: { readonly startedAt: Date; readonly durationMs: number },
  results: readonly AuditResult[],
): Report {
  const tally = { MUST: count(results, "MUST"), SHOULD: count(results, "SHOULD") };
  return {
    url: `${url.origin}${url.pathname}`,
    passed: tally.MUST.failed + tally.MUST.skipped === 0,
    startedAt: startedAt.toISOString(),
    durationMs,
    tally,
    results,
  };
}

function count(results: readonly AuditResult[], level: AuditLevel): Tally {
  const tally = { passed: 0, failed: 0, skipped: 0 };
  for (const result of results) if (result.level === level) tally[result.outcome] += 1;
  return tally;
}
