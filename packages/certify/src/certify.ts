import { setTimeout as delay } from "node:timers/promises";
import { checkFunction, describeKind, type OptionNames } from "@countersign/protocol";
import type { Audit } from "./audits/audit.ts";
import { audits } from "./audits/audits.ts";
import { freshText } from "./audits/messages.ts";
import { lateness } from "./audits/takes-deliveries.ts";
import { checkMilliseconds, checkNames, checkOptions, PROBE_OPTIONS } from "./probe/check-options.ts";
import { createProbe } from "./probe/create-probe.ts";
import type { Exchange, Probe, ProbeOptions } from "./probe/probe.ts";
import { ReceiverUnreachableError } from "./receiver-unreachable-error.ts";
import { toReport, type AuditResult, type Report } from "./report/report.ts";
import { selectAudits } from "./select-audits.ts";
import { connectionTrouble } from "./wire/exchange.ts";

const DEFAULT_DEADLINE_MS = 300_000;

/** How often a receiver that went down is asked whether it is back, as under a supervisor, in ms. */
const RECOVERY_POLL_MS = 200;

/** The audit of slowness, and how many late answers end the others: each costs more than five seconds. */
const SLOWNESS = "answers-within-5-seconds";
const MAX_LATE = 3;

/** Which receiver to audit, how to reach it, and what to report. */
export interface CertifyOptions extends ProbeOptions {
  /** The ids of the audits to run. Default: all. */
  readonly only?: readonly string[] | undefined;
  /**
   * How long all audits together may take, in ms. Those that are left are then reported as skipped. Default: 300,000.
   */
  readonly deadlineMs?: number | undefined;
  /** Called with each result as soon as it is known. */
  readonly onResult?: ((result: AuditResult) => void) | undefined;
}

const CERTIFY_OPTIONS: OptionNames<CertifyOptions> = {
  ...PROBE_OPTIONS,
  only: true,
  deadlineMs: true,
  onResult: true,
};

/**
 * Runs every audit against a receiver, one after another, and reports which it passes. The receiver may be written in any
 * language; all that is needed is its URL and its secret. It is sent well over a hundred messages, all of users whose
 * ids begin with `countersign-certify`, and will process those that are authentic: audit a receiver whose data you can spare.
 *
 * A cause is reported once. Audits that mean nothing after another one has failed (all that send authentic messages, when a plain
 * one is not accepted) are skipped, with the reason. So are those left when three answers came later than the sender waits.
 *
 * Hostile and broken receivers cost bounded time and memory. A receiver that stops answering, and does not come back
 * within half of `timeoutMs`, is sent nothing more: the audits that are left are reported as skipped.
 *
 * @throws TypeError (as a rejection) if an option is unknown or wrong, or `only` names an audit that does not exist.
 * @throws ReceiverUnreachableError (as a rejection) if at the start no connection can be made. After that, nothing
 *   that the receiver does makes it reject; it rejects with the signal's reason when the signal aborts.
 * @example
 * ```ts
 * const report = await certify({ url: "http://127.0.0.1:3000/webhooks", secret: "a shared secret" });
 * if (!report.passed) process.exitCode = 1;
 * ```
 */
export async function certify(options: CertifyOptions): Promise<Report> {
  checkNames("certify()", options, CERTIFY_OPTIONS);
  const { only, deadlineMs = DEFAULT_DEADLINE_MS, onResult, ...probeOptions } = options;
  checkMilliseconds("deadlineMs", deadlineMs);
  checkFunction("certify({ onResult })", onResult);
  if (only !== undefined && !Array.isArray(only)) {
    throw new TypeError(`only must be a list of audits, not ${describeKind(only)}.`);
  }
  const selected = selectAudits(audits, only);
  const endpoint = checkOptions("certify()", probeOptions);
  const probe = createProbe(probeOptions);
  const trouble = await connectionTrouble(endpoint, probe.timeoutMs);
  options.signal?.throwIfAborted();
  if (trouble !== undefined) throw new ReceiverUnreachableError(probe.url, trouble);
  const startedAt = new Date();
  const results = new Map<Audit, AuditResult>();
  const conclude = (audit: Audit, result: AuditResult): void => {
    results.set(audit, result);
    onResult?.(result);
  };
  let reason: string | undefined;
  for (const audit of selected) {
    if (results.has(audit)) continue;
    const skipped = reason ?? unmetNeed(audit, results);
    if (skipped !== undefined) {
      conclude(audit, skip(audit, skipped));
      continue;
    }
    const unanswered = probe.unanswered;
    const result = await runAudit(audit, probe);
    conclude(audit, result);
    const fellSilent = result.outcome === "failed" && probe.unanswered > unanswered;
    if (fellSilent && !(await comesBack(probe))) reason = `the receiver has not answered since ${audit.id}`;
    if (Date.now() - startedAt.getTime() > deadlineMs) reason ??= `${deadlineMs / 1000} s were over`;
    const [late] = probe.late;
    if (reason === undefined && late !== undefined && probe.late.length >= MAX_LATE) {
      // Decided from what was seen, so that its result comes before the audits that are skipped because of it.
      const slowness = selected.find(({ id }) => id === SLOWNESS);
      if (slowness !== undefined && !results.has(slowness))
        conclude(slowness, await runAudit(slowness, probe));
      reason = `the receiver is too slow: ${lateness(late)}`;
    }
  }
  return toReport(
    probe.url,
    startedAt,
    selected.flatMap((audit) => results.get(audit) ?? []),
  );
}

/** Why an audit would mean nothing: one that it needs has not passed. */
function unmetNeed({ needs = [] }: Audit, results: ReadonlyMap<Audit, AuditResult>): string | undefined {
  for (const result of results.values()) {
    if (result.outcome === "passed" || !needs.includes(result.id)) continue;
    // What made the first one fail is the reason for all.
    return result.outcome === "skipped" ? result.reason : `${result.id} failed: ${result.failure.cause}`;
  }
  return undefined;
}

async function runAudit(audit: Audit, probe: Probe): Promise<AuditResult> {
  const { id, level, title } = audit;
  const started = performance.now();
  const failure = await audit.run(probe);
  const durationMs = Math.round(performance.now() - started);
  return failure === undefined
    ? { id, level, title, outcome: "passed", durationMs }
    : { id, level, title, outcome: "failed", durationMs, failure };
}

function skip({ id, level, title }: Audit, reason: string): AuditResult {
  return { id, level, title, outcome: "skipped", durationMs: 0, reason };
}

/** Whether the receiver answers an ordinary message, at once or after it was started again. */
async function comesBack(probe: Probe): Promise<boolean> {
  const deadline = performance.now() + probe.timeoutMs / 2;
  let exchange: Exchange;
  do {
    exchange = await probe.send({
      what: "a track message, to see whether it is there",
      body: freshText("track"),
    });
    if (exchange.answer !== undefined) return true;
    await delay(RECOVERY_POLL_MS, undefined, probe.signal && { signal: probe.signal });
  } while (performance.now() < deadline);
  return false;
}
