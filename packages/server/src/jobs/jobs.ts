import { messageOf } from "@countersign/protocol";
import { iso } from "../shapes/times.ts";

/** What every job shows of itself. */
export interface JobJson {
  readonly id: string;
  readonly state: "running" | "done" | "cancelled" | "failed";
  readonly startedAt: string;
  readonly endedAt?: string;
  /** Why it failed. */
  readonly error?: string;
}

/** A job on its way. */
export interface Job<Json extends JobJson> {
  /** How far it has come. */
  json: Json;
  readonly abort: AbortController;
}

/** How many of a kind are kept. */
export const MAX_KEPT = 20;

/** The jobs of one kind that were started through the control API. The last twenty are kept. */
export class Jobs<Json extends JobJson> {
  readonly #kind: string;
  readonly #now: () => number;
  readonly #ended: (json: Json) => void;
  readonly #jobs = new Map<string, Job<Json>>();
  #lastId = 0;
  #isClosed = false;

  /**
   * @param kind What their ids begin with.
   * @param now The time, in milliseconds since 1970.
   * @param ended Called when a job has ended.
   */
  constructor(kind: string, now: () => number, ended: (json: Json) => void) {
    this.#kind = kind;
    this.#now = now;
    this.#ended = ended;
  }

  /** The one that is running. */
  get running(): Json | undefined {
    return [...this.#jobs.values()].find(({ json }) => json.state === "running")?.json;
  }

  find(id: string): Json | undefined {
    return this.#jobs.get(id)?.json;
  }

  /** Those that are kept, newest first. */
  list(limit: number): readonly Json[] {
    return [...this.#jobs.values()]
      .map(({ json }) => json)
      .toReversed()
      .slice(0, limit);
  }

  /** Stops a job. What it has done so far remains. */
  cancel(id: string): Json | undefined {
    const job = this.#jobs.get(id);
    if (!job) return undefined;
    this.#end(job, "cancelled");
    job.abort.abort();
    return job.json;
  }

  /** Stops what is running, and what a request starts that was under way: nothing would stop it later. */
  close(): void {
    this.#isClosed = true;
    for (const id of this.#jobs.keys()) this.cancel(id);
  }

  /**
   * Starts a job.
   *
   * @param describe Describes it as it begins.
   * @param work Does it, and resolves to what its end adds to the description.
   */
  protected begin(
    describe: (id: string, startedAt: string) => Json,
    work: (job: Job<Json>) => Promise<Partial<Json>>,
  ): Json {
    this.#lastId += 1;
    const json = describe(`${this.#kind}-${this.#lastId}`, iso(this.#now()));
    const job = { json, abort: new AbortController() };
    this.#jobs.set(json.id, job);
    const [oldest = ""] = this.#jobs.keys();
    if (this.#jobs.size > MAX_KEPT) this.#jobs.delete(oldest);
    if (this.#isClosed) return this.cancel(json.id) ?? json;
    void work(job).then(
      (result) => this.#end(job, "done", result),
      (error: unknown) => this.#end(job, "failed", { error: messageOf(error) }),
    );
    return job.json;
  }

  #end(job: Job<Json>, state: JobJson["state"], result: Partial<Json> | Pick<JobJson, "error"> = {}): void {
    if (job.json.state !== "running") return;
    job.json = { ...job.json, state, ...result, endedAt: iso(this.#now()) };
    this.#ended(job.json);
  }
}
