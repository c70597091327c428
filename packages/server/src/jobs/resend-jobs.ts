import type { DeliveryFilter, Sender } from "@countersign/sender";
import { Jobs, type Job, type JobJson } from "./jobs.ts";

/** Deliveries that are sent again by a filter, as the API shows it. */
export interface ResendJobJson extends JobJson {
  readonly filter: Readonly<Record<string, unknown>>;
  /** Deliveries that matched at the start, without those that have been left out. */
  readonly matched: number;
  readonly resent: number;
}

/** The overload of {@link Sender.resend} that takes a filter. */
interface Resender {
  resend(what: Parameters<Sender["resend"]>[0] & object): Promise<{ readonly resent: number }>;
}

/** Progress is reported at most ten times a second. */
const TELL_EVERY_MS = 100;

/** Sends deliveries again by filter, and tells how far it has come. */
export class ResendJobs extends Jobs<ResendJobJson> {
  readonly #sender: Resender;
  readonly #tell: (job: ResendJobJson) => void;

  /**
   * @param now The time, in milliseconds since 1970.
   * @param tell Called with progress, and at the end.
   */
  constructor(sender: Resender, now: () => number, tell: (job: ResendJobJson) => void) {
    super("resend", now, tell);
    this.#sender = sender;
    this.#tell = tell;
  }

  /**
   * Starts to send again what matches and was accepted before now.
   *
   * @param given The filter as it was given, to show it.
   */
  start(filter: DeliveryFilter, given: Readonly<Record<string, unknown>>): ResendJobJson {
    return this.begin(
      (id, startedAt) => ({ id, filter: given, state: "running", matched: 0, resent: 0, startedAt }),
      (job) => this.#resend(job, filter),
    );
  }

  async #resend(job: Job<ResendJobJson>, filter: DeliveryFilter): Promise<Partial<ResendJobJson>> {
    let toldAt = 0;
    const { resent } = await this.#sender.resend({
      filter,
      signal: job.abort.signal,
      onProgress: (progress) => {
        job.json = { ...job.json, resent: progress.resent, matched: progress.matched };
        const now = performance.now();
        if (job.json.state !== "running" || now - toldAt < TELL_EVERY_MS) return;
        toldAt = now;
        this.#tell(job.json);
      },
    });
    return { resent };
  }
}
