import { setTimeout as delay } from "node:timers/promises";
import type { Audit } from "./audits/audit.ts";
import { audits } from "./audits/audits.ts";
import { checkOptions } from "./probe/check-options.ts";
import { connectionTrouble } from "./wire/exchange.ts";
import { freshText } from "./audits/messages.ts";
import { createProbe } from "./probe/create-probe.ts";
import type { Exchange, Probe, ProbeOptions } from "./probe/probe.ts";
import { toReport, type AuditResult, type Report } from "./report/report.ts";
import { ReceiverUnreachableError } from "./receiver-unreachable-error.ts";
import { selectAudits } from "./select-audits.ts";

const DEFAULT_DEADLINE_MS = 300_000;

/** How often a receiver that went down is asked whether it is back, as under a supervisor, in ms. */
const RECOVERY_POLL_MS = 200;

/** Which receiver to audit, how to reach it, and what to tell of it. */
export interface CertifyOptions extends ProbeOptions {
  /** The ids of the audits to run. Default: all. */
  readonly only?: readonly string[] | undefined;
  /**
   * How long all audits together may take, in ms. Those that are left over then are reported as skipped. Default: 300,000.
   */
  readonly deadlineMs?: number | undefined;
  /** Called with each result as soon as it is there. */
  readonly onResult?: ((result: AuditResult) => void) | undefined;
}

/**
 * Puts every audit to a receiver, one after another, and reports which it passes. The receiver may be written in any
 * language; all it takes is its URL and its secret. It is sent well over a hundred messages, all of users whose
 * ids begin with `countersign-certify`, and will process those that are authentic: audit a receiver whose data you can spare.
 *
 * Hostile and broken receivers cost bounded time and memory. A receiver that stops answering, and does not come back
 * within half of `timeoutMs`, is sent nothing more: the audits left over are reported as skipped.
 *
 * @throws TypeError (as a rejection) if an option is not usable, or `only` names an audit that does not exist.
 * @throws ReceiverUnreachableError (as a rejection) if at the start there is nothing to connect to. From then on, nothing
 *   that the receiver does makes it reject; it rejects with the signal's reason when the signal aborts.
 * @example
 * ```ts
 * const report = await certify({ url: "http://127.0.0.1:3000/webhooks", secret: "a shared secret" });
 * if (!report.passed) process.exitCode = 1;
 * ```
 */
export async function certify(options: CertifyOptions): Promise<Report> {
  const selected = selectAudits(audits, options.only);
  const probe = createProbe(options);
  const deadlineMs = checkDeadline(options.deadlineMs);
  const trouble = await connectionTrouble(checkOptions(options), probe.timeoutMs);
  options.signal?.throwIfAborted();
  if (trouble !== undefined) throw new ReceiverUnreachableError(probe.url, trouble);
  const startedAt = new Date();
  const results: AuditResult[] = [];
  let reason: string | undefined;
  for (const audit of selected) {
    const unanswered = probe.unanswered;
    const result: AuditResult = reason === undefined ? await runAudit(audit, probe) : skip(audit, reason);
    results.push(result);
    options.onResult?.(result);
    const fellSilent = result.outcome === "failed" && probe.unanswered > unanswered;
    if (fellSilent && !(await comesBack(probe))) reason = `the receiver has not answered since ${audit.id}`;
    if (Date.now() - startedAt.getTime() > deadlineMs) reason ??= `${deadlineMs / 1000} s were over`;
  }
  return toReport(probe.url, startedAt, results);
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

function checkDeadline(deadlineMs = DEFAULT_DEADLINE_MS): number {
  if (deadlineMs > 0) return deadlineMs;
  throw new TypeError(`deadlineMs must be a positive number of milliseconds, but got ${deadlineMs}.`);
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
