import { audits, certify, type AuditResult, type CertifyOptions, type Tally } from "@countersign/certify";
import { messageOf } from "@countersign/protocol";
import { iso } from "../shapes/times.ts";
import { withoutTexts } from "./without-texts.ts";

/** The state of the audits of one receiver, as the API shows it. */
export interface CertificationJson {
  readonly id: string;
  readonly url: string;
  readonly state: "running" | "done" | "cancelled" | "failed";
  readonly startedAt: string;
  readonly endedAt?: string;
  /** How many audits there are. */
  readonly total: number;
  readonly tally: Readonly<Record<"MUST" | "SHOULD", Tally>>;
  /** Whether every MUST is met; when all have ended. */
  readonly passed?: boolean;
  readonly results: readonly AuditResult[];
  /** Why it failed. */
  readonly error?: string;
}

/** What is reported while audits run. */
export type CertificationEvent =
  | { readonly event: "audit"; readonly certification: string; readonly result: AuditResult }
  | { readonly event: "certified"; readonly certification: Omit<CertificationJson, "results"> };

/** What to audit. */
export type CertificationRequest = Pick<CertifyOptions, "secret" | "headers" | "ca" | "only" | "language"> & {
  readonly url: string;
};

interface Running {
  json: CertificationJson;
  readonly abort: AbortController;
}

const MAX_KEPT = 20;

/** The audits that were started through the control API: one receiver at a time. */
export class Certifications {
  readonly #tell: (event: CertificationEvent) => void;
  readonly #kept = new Map<string, Running>();
  #lastId = 0;

  /** @param tell Called with each result, and at the end. */
  constructor(tell: (event: CertificationEvent) => void) {
    this.#tell = tell;
  }

  /** The one that is running. */
  get running(): CertificationJson | undefined {
    return [...this.#kept.values()].find(({ json }) => json.state === "running")?.json;
  }

  find(id: string): CertificationJson | undefined {
    return this.#kept.get(id)?.json;
  }

  /** Starts the audits. Their results contain what was sent and answered: values of headers and the secret are hidden in it. */
  start(request: CertificationRequest): CertificationJson {
    this.#lastId += 1;
    const total = request.only?.length ?? audits.length;
    const running: Running = {
      abort: new AbortController(),
      json: {
        id: `certification-${this.#lastId}`,
        url: request.url,
        state: "running",
        startedAt: iso(Date.now()),
        total,
        tally: { MUST: NO_TALLY, SHOULD: NO_TALLY },
        results: [],
      },
    };
    this.#kept.set(running.json.id, running);
    const [oldest = ""] = this.#kept.keys();
    if (this.#kept.size > MAX_KEPT) this.#kept.delete(oldest);
    void this.#run(running, request);
    return running.json;
  }

  /** Stops the audits; those that have ended keep their results. */
  cancel(id: string): CertificationJson | undefined {
    const running = this.#kept.get(id);
    if (!running) return undefined;
    if (running.json.state === "running") this.#end(running, { state: "cancelled" });
    running.abort.abort();
    return running.json;
  }

  /** Stops what is running. */
  close(): void {
    for (const id of this.#kept.keys()) this.cancel(id);
  }

  async #run(running: Running, request: CertificationRequest): Promise<void> {
    const hidden = [request.secret, ...Object.values(request.headers ?? {})];
    try {
      const { passed } = await certify({
        ...request,
        signal: running.abort.signal,
        onResult: (result) => this.#add(running, withoutTexts(result, hidden)),
      });
      this.#end(running, { state: "done", passed });
    } catch (error) {
      this.#end(running, { state: "failed", error: withoutTexts(messageOf(error), hidden) });
    }
  }

  #add(running: Running, result: AuditResult): void {
    if (running.json.state !== "running") return;
    const { level, outcome } = result;
    const { tally, results } = running.json;
    const counted = { ...tally[level], [outcome]: tally[level][outcome] + 1 };
    running.json = { ...running.json, tally: { ...tally, [level]: counted }, results: [...results, result] };
    this.#tell({ event: "audit", certification: running.json.id, result });
  }

  #end(running: Running, end: Pick<CertificationJson, "state" | "passed" | "error">): void {
    if (running.json.state !== "running") return;
    running.json = { ...running.json, ...end, endedAt: iso(Date.now()) };
    const { results: _, ...certification } = running.json;
    this.#tell({ event: "certified", certification });
  }
}

const NO_TALLY: Tally = { passed: 0, failed: 0, skipped: 0 };
