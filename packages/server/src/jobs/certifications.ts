import {
  audits,
  certify,
  isAcceptedForgery,
  type AuditResult,
  type CertifyOptions,
  type Tally,
} from "@countersign/certify";
import { messageOf } from "@countersign/protocol";
import { assertCallable } from "@countersign/sender";
import { Jobs, type Job, type JobJson } from "./jobs.ts";
import { withoutTexts } from "./without-texts.ts";

/** The state of the audits of one receiver, as the API shows it. */
export interface CertificationJson extends JobJson {
  readonly url: string;
  /** How many audits there are. */
  readonly total: number;
  /** The ids of these audits, if they are not all that there are. */
  readonly only?: readonly string[] | undefined;
  readonly tally: Readonly<Record<"MUST" | "SHOULD", Tally>>;
  /** Whether every MUST is met; when all have ended. */
  readonly passed?: boolean;
  readonly results: readonly AuditResult[];
}

/** What is reported while audits run. */
export type CertificationEvent =
  | { readonly event: "audit"; readonly certification: string; readonly result: AuditResult }
  | { readonly event: "certified"; readonly certification: Omit<CertificationJson, "results"> };

/** What to audit. */
export type CertificationRequest = Pick<CertifyOptions, "secret" | "headers" | "ca" | "only" | "language"> & {
  readonly url: string;
};

/** Is told of what audits show about forgeries. */
export interface CertificationListener {
  /** The receiver has accepted a forged message. */
  readonly onForgery?: (result: FailedAudit) => void;
  /** Every MUST is met. */
  readonly onPassed?: () => void;
}

/** The result of an audit that failed. */
type FailedAudit = Extract<AuditResult, { readonly outcome: "failed" }>;

const NO_TALLY: Tally = { passed: 0, failed: 0, skipped: 0 };

/** The audits that were started through the control API. */
export class Certifications extends Jobs<CertificationJson> {
  readonly #tell: (event: CertificationEvent) => void;

  /** @param tell Called with each result, and at the end. */
  constructor(tell: (event: CertificationEvent) => void) {
    super("certification", Date.now, ({ results: _, ...certification }) =>
      tell({ event: "certified", certification }),
    );
    this.#tell = tell;
  }

  /**
   * Starts the audits. Their results contain what was sent and answered: values of headers and the secret are hidden in it.
   */
  start(request: CertificationRequest, listener: CertificationListener = {}): CertificationJson {
    const { url, only } = request;
    return this.begin(
      (id, startedAt) => ({
        id,
        url,
        state: "running",
        startedAt,
        total: only?.length ?? audits.length,
        only,
        tally: { MUST: NO_TALLY, SHOULD: NO_TALLY },
        results: [],
      }),
      (job) => this.#audit(job, request, listener),
    );
  }

  async #audit(
    job: Job<CertificationJson>,
    request: CertificationRequest,
    { onForgery, onPassed }: CertificationListener,
  ): Promise<Partial<CertificationJson>> {
    const hidden = [request.secret, ...Object.values(request.headers ?? {})];
    try {
      const { passed } = await certify({
        ...request,
        // As the sender: the answer is shown, and that of a metadata service has the credentials of this machine.
        checkAddress: assertCallable,
        signal: job.abort.signal,
        onResult: (result) => {
          if (result.outcome === "failed" && isAcceptedForgery(result)) onForgery?.(result);
          this.#add(job, withoutTexts(result, hidden));
        },
      });
      if (passed) onPassed?.();
      return { passed };
    } catch (error) {
      throw new Error(withoutTexts(messageOf(error), hidden), { cause: error });
    }
  }

  #add(job: Job<CertificationJson>, result: AuditResult): void {
    if (job.json.state !== "running") return;
    const { level, outcome } = result;
    const { id, tally, results } = job.json;
    const counted = { ...tally[level], [outcome]: tally[level][outcome] + 1 };
    job.json = { ...job.json, tally: { ...tally, [level]: counted }, results: [...results, result] };
    this.#tell({ event: "audit", certification: id, result });
  }
}
