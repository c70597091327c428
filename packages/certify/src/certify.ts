import { checkFunction, DEADLINE_MS_SYNONYMS, type OptionNames } from "@countersign/protocol";
import { checkMilliseconds, checkNames, checkOptions, PROBE_OPTIONS } from "./probe/check-options.ts";
import { createProbe } from "./probe/create-probe.ts";
import type { ProbeOptions } from "./probe/probe.ts";
import { ReceiverUnreachableError } from "./receiver-unreachable-error.ts";
import { toReport, type AuditResult, type Report } from "./report/report.ts";
import { runAudits } from "./run-audits.ts";
import { selectAudits } from "./select-audits.ts";
import { connectionTrouble } from "./wire/exchange.ts";

const DEFAULT_DEADLINE_MS = 300_000;

/** Which receiver to audit, how to reach it, and what to report. */
export interface CertifyOptions extends ProbeOptions {
  /** The ids of the audits to run. Default: all. */
  readonly only?: readonly string[] | undefined;
  /**
   * How long all audits together may take, in ms. The remaining ones are then reported as skipped. Default:
   * 300,000.
   */
  readonly deadlineMs?: number | undefined;
  /**
   * How many audits run at the same time. If the receiver leaves a request without an answer, the audits that failed meanwhile
   * run again, one after another, so that the one that caused it is named. Default: 1.
   */
  readonly concurrency?: number | undefined;
  /** Called with each result as soon as it is known. */
  readonly onResult?: ((result: AuditResult) => void) | undefined;
}

const CERTIFY_OPTIONS: OptionNames<CertifyOptions> = {
  ...PROBE_OPTIONS,
  only: true,
  deadlineMs: DEADLINE_MS_SYNONYMS,
  concurrency: true,
  onResult: true,
};

/**
 * Runs every audit against a receiver, one after another unless `concurrency` says more, and reports which it
 * passes. The receiver may be written in any language; the audits need only its URL and its secret. It gets
 * well over a hundred messages, all of users whose ids begin with `countersign-certify`, and processes the
 * authentic ones: audit a receiver with test data only.
 *
 * A cause is reported once. Audits whose result would mean nothing after another one has failed (all that
 * send authentic messages, when a plain one is not accepted) are skipped, with the reason. So are the
 * remaining ones after three answers that came later than the sender waits.
 *
 * Hostile and broken receivers cost bounded time and memory. A receiver that stops answering, and does not
 * recover within half of `timeoutMs`, gets no more requests: the remaining audits are reported as skipped.
 *
 * @throws TypeError (as a rejection) if an option is unknown or wrong, or `only` names an audit that does not exist.
 * @throws What `checkAddress` throws (as a rejection) if the URL has an address that may not be called.
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
  const { only, deadlineMs = DEFAULT_DEADLINE_MS, concurrency = 1, onResult, ...probeOptions } = options;
  checkMilliseconds("deadlineMs", deadlineMs);
  if (!Number.isInteger(concurrency) || concurrency < 1) {
    throw new TypeError(
      `concurrency must be a whole number of audits, at least 1, but got ${String(concurrency)}.`,
    );
  }
  checkFunction("certify({ onResult })", onResult);
  const selected = selectAudits(only);
  const endpoint = checkOptions("certify()", probeOptions);
  const probe = createProbe(probeOptions);
  const trouble = await connectionTrouble(endpoint, probe.timeoutMs);
  options.signal?.throwIfAborted();
  if (trouble !== undefined) throw new ReceiverUnreachableError(probe.url, trouble);
  const startedAt = new Date();
  const started = performance.now();
  const results = await runAudits(selected, probe, { concurrency, deadlineMs, onResult });
  const durationMs = Math.round(performance.now() - started);
  return toReport(probe.url, { startedAt, durationMs }, results);
}
