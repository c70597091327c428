import type { DeliveryFilter, Sender } from "@countersign/sender";
import { messageOf } from "@countersign/protocol";
import { iso } from "../shapes/times.ts";

/** Deliveries that are sent again by a filter, as the API shows it. */
export interface ResendJobJson {
  readonly id: string;
  readonly filter: Readonly<Record<string, unknown>>;
  readonly state: "running" | "done" | "cancelled" | "failed";
  /** Deliveries that matched at the start, without those that have been left out. */
  readonly matched: number;
  readonly resent: number;
  readonly startedAt: string;
  readonly endedAt?: string;
  /** Why it failed. */
  readonly error?: string;
}

interface Job {
  json: ResendJobJson;
  readonly abort: AbortController;
  toldAt: number;
}

type Resender = Pick<Sender, "count"> & {
  resend(what: Parameters<Sender["resend"]>[0] & object): Promise<{ readonly resent: number }>;
};

const MAX_KEPT = 20;
/** Progress is reported at most ten times a second. */
const TELL_EVERY_MS = 100;

/** Sends deliveries again by filter, one job at a time, and tells how far it has come. */
export class ResendJobs {
  readonly #sender: Resender;
  readonly #now: () => number;
  readonly #tell: (job: ResendJobJson) => void;
  readonly #jobs = new Map<string, Job>();
  #lastId = 0;

  /**
   * @param now The time, in milliseconds since 1970.
   * @param tell Called with progress, and at the end.
   */
  constructor(sender: Resender, now: () => number, tell: (job: ResendJobJson) => void) {
    this.#sender = sender;
    this.#now = now;
    this.#tell = tell;
  }

  /** The one that is running. */
  get running(): ResendJobJson | undefined {
    return [...this.#jobs.values()].find(({ json }) => json.state === "running")?.json;
  }

  find(id: string): ResendJobJson | undefined {
    return this.#jobs.get(id)?.json;
  }

  /**
   * Starts to send again what matches and was accepted before now.
   *
   * @param given The filter as it was given, to show it.
   */
  start(filter: DeliveryFilter, given: Readonly<Record<string, unknown>>): ResendJobJson {
    this.#lastId += 1;
    const id = `resend-${this.#lastId}`;
    const startedAt = iso(this.#now());
    const job: Job = {
      json: { id, filter: given, state: "running", matched: 0, resent: 0, startedAt },
      abort: new AbortController(),
      toldAt: 0,
    };
    this.#jobs.set(id, job);
    const [oldest = ""] = this.#jobs.keys();
    if (this.#jobs.size > MAX_KEPT) this.#jobs.delete(oldest);
    void this.#run(job, filter);
    return job.json;
  }

  /** Stops a job; deliveries that it has already sent again remain. */
  cancel(id: string): ResendJobJson | undefined {
    const job = this.#jobs.get(id);
    if (!job) return undefined;
    this.#end(job, { state: "cancelled" });
    job.abort.abort();
    return job.json;
  }

  /** Stops what is running. */
  close(): void {
    for (const id of this.#jobs.keys()) this.cancel(id);
  }

  async #run(job: Job, filter: DeliveryFilter): Promise<void> {
    try {
      const { resent } = await this.#sender.resend({
        filter,
        signal: job.abort.signal,
        onProgress: (progress) => this.#progress(job, progress),
      });
      this.#end(job, { state: "done", resent });
    } catch (error) {
      this.#end(job, { state: "failed", error: messageOf(error) });
    }
  }

  #progress(job: Job, progress: { readonly resent: number; readonly matched: number }): void {
    job.json = { ...job.json, resent: progress.resent, matched: progress.matched };
    const now = performance.now();
    if (job.json.state !== "running" || now - job.toldAt < TELL_EVERY_MS) return;
    job.toldAt = now;
    this.#tell(job.json);
  }

  #end(job: Job, end: Partial<Pick<ResendJobJson, "state" | "resent" | "error">>): void {
    if (job.json.state !== "running") return;
    job.json = { ...job.json, ...end, endedAt: iso(this.#now()) };
    this.#tell(job.json);
  }
}
