import { setTimeout as delay } from "node:timers/promises";
import type { Audit } from "./audits/audit.ts";
import { ACCEPTS_PLAIN } from "./audits/foundations.ts";
import { freshText } from "./audits/messages.ts";
import { MADE_UP_SIGNATURE } from "./audits/signatures.ts";
import { lateness } from "./audits/takes-deliveries.ts";
import { hasAnswered, TOO_MANY_REQUESTS } from "./probe/has-answered.ts";
import type { Delivery, Probe } from "./probe/probe.ts";
import type { AuditResult } from "./report/report.ts";

/** How often a receiver that went down is asked whether it is back, as under a supervisor, in ms. */
const RECOVERY_POLL_MS = 200;

const FORGED: Delivery = {
  what: "a track message with a made-up signature, to see whether it answers again",
  body: freshText("track"),
  signature: MADE_UP_SIGNATURE,
};

/** The audit of slowness, and how many late answers end the others: each costs more than five seconds. */
const SLOWNESS = "answers-within-5-seconds";
const MAX_LATE = 3;

/** How {@link runAudits} runs. */
export interface RunOptions {
  readonly concurrency: number;
  readonly deadlineMs: number;
  readonly onResult: ((result: AuditResult) => void) | undefined;
}

/** Runs the audits in their order, so many at a time, and gives a result for each of them. */
export async function runAudits(
  selected: readonly Audit[],
  probe: Probe,
  options: RunOptions,
): Promise<readonly AuditResult[]> {
  const run = new Run(selected, probe, options);
  await run.finish();
  return selected.flatMap((audit) => run.results.get(audit) ?? []);
}

class Run {
  readonly results = new Map<Audit, AuditResult>();
  readonly #selected: readonly Audit[];
  readonly #probe: Probe;
  readonly #options: RunOptions;
  readonly #startedAt = performance.now();
  /** Why the audits that are left are skipped. */
  #reason: string | undefined;

  constructor(selected: readonly Audit[], probe: Probe, options: RunOptions) {
    this.#selected = selected;
    this.#probe = probe;
    this.#options = options;
  }

  async finish(): Promise<void> {
    let group = this.#nextGroup();
    while (group.length > 0) {
      const [only] = group;
      if (group.length === 1 && only !== undefined) await this.#runAlone(only);
      else await this.#runTogether(group);
      group = this.#nextGroup();
    }
  }

  /** The next audits that can run at the same time. Those that mean nothing any more are skipped on the way. */
  #nextGroup(): readonly Audit[] {
    const group: Audit[] = [];
    for (const audit of this.#selected) {
      if (this.results.has(audit)) continue;
      const skipped = this.#reason ?? failureOf(audit.needs ?? [], this.results);
      if (skipped !== undefined) {
        this.#conclude(audit, skip(audit, skipped));
        continue;
      }
      // What it needs is not known before the group has ended.
      const mustWait = group.some(({ id }) => audit.needs?.includes(id));
      if (group.length > 0 && (mustWait || audit.alone === true)) break;
      group.push(audit);
      if (audit.alone === true || group.length === this.#options.concurrency) break;
    }
    return group;
  }

  async #runAlone(audit: Audit): Promise<void> {
    const { unanswered, limited } = this.#probe;
    const result = await runOne(audit, this.#probe);
    this.#conclude(audit, result);
    if (result.outcome === "failed") await this.#checkLimit(limited, [audit]);
    const fellSilent = result.outcome === "failed" && this.#probe.unanswered > unanswered;
    if (fellSilent && !(await comesBack(this.#probe))) {
      this.#reason = `the receiver has not answered since ${audit.id}`;
    }
    await this.#checkEnd();
  }

  async #runTogether(group: readonly Audit[]): Promise<void> {
    const { unanswered, limited } = this.#probe;
    const results = await Promise.all(group.map((audit) => runOne(audit, this.#probe)));
    const fellSilent = this.#probe.unanswered > unanswered;
    const again: Audit[] = [];
    for (const [index, audit] of group.entries()) {
      const result = results[index];
      if (result === undefined) continue;
      // Any of the group may have caused it.
      if (fellSilent && result.outcome === "failed") again.push(audit);
      else this.#conclude(audit, result);
    }
    await this.#checkLimit(
      limited,
      group.filter((audit) => this.results.get(audit)?.outcome === "failed"),
    );
    if (again.length > 0 && !(await comesBack(this.#probe))) {
      for (const [index, audit] of group.entries()) {
        const result = results[index];
        if (result !== undefined && again.includes(audit)) this.#conclude(audit, result);
      }
      this.#reason = `the receiver has not answered since ${again.map(({ id }) => id).join(", ")}`;
    }
    for (const audit of again) {
      if (this.#reason === undefined) await this.#runAlone(audit);
    }
    await this.#checkEnd();
  }

  /** Ends the run when these audits have failed, and the receiver limits its rate: every audit that is left would fail of that. */
  async #checkLimit(before: number, failed: readonly Audit[]): Promise<void> {
    if (failed.length === 0 || this.#probe.limited === before) return;
    const { answer } = await this.#probe.send({
      what: "a track message, to see whether it limits its rate still",
      body: freshText("track"),
    });
    if (answer?.status !== TOO_MANY_REQUESTS) return;
    const since = failed.map(({ id }) => id).join(", ");
    this.#reason ??=
      failureOf(ACCEPTS_PLAIN, this.results) ??
      `the receiver has limited its rate (${TOO_MANY_REQUESTS}) since ${since}`;
  }

  /** Ends the run when nothing shows that the receiver runs, its time is over, or the receiver has answered late too often. */
  async #checkEnd(): Promise<void> {
    const { deadlineMs } = this.#options;
    // That audit sends authentic messages and a forged one.
    if (!this.#probe.isRunning) this.#reason ??= failureOf(ACCEPTS_PLAIN, this.results);
    if (performance.now() - this.#startedAt > deadlineMs) this.#reason ??= `${deadlineMs / 1000} s were over`;
    const [late] = this.#probe.late;
    if (this.#reason !== undefined || late === undefined || this.#probe.late.length < MAX_LATE) return;
    // Decided from what was seen, so that its result comes before the audits that are skipped because of it.
    const slowness = this.#selected.find(({ id }) => id === SLOWNESS);
    if (slowness !== undefined && !this.results.has(slowness)) {
      this.#conclude(slowness, await runOne(slowness, this.#probe));
    }
    this.#reason = `the receiver is too slow: ${lateness(late)}`;
  }

  #conclude(audit: Audit, result: AuditResult): void {
    this.results.set(audit, result);
    this.#options.onResult?.(result);
  }
}

/** Why the first of these audits that has not passed has not. */
function failureOf(ids: readonly string[], results: ReadonlyMap<Audit, AuditResult>): string | undefined {
  for (const result of results.values()) {
    if (result.outcome === "passed" || !ids.includes(result.id)) continue;
    // What made the first one fail is the reason for all.
    return result.outcome === "skipped" ? result.reason : `${result.id} failed: ${result.failure.cause}`;
  }
  return undefined;
}

async function runOne(audit: Audit, probe: Probe): Promise<AuditResult> {
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
  do {
    const exchange = await probe.send({
      what: "a track message, to see whether it answers again",
      body: freshText("track"),
    });
    if (hasAnswered(exchange)) return true;
    // Behind a proxy, it may run and fail for authentic messages only.
    if (exchange.answer !== undefined && hasAnswered(await probe.send(FORGED))) return true;
    await delay(RECOVERY_POLL_MS, undefined, probe.signal && { signal: probe.signal });
  } while (performance.now() < deadline);
  return false;
}
