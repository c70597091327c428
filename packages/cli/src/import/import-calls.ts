import {
  Analytics,
  fetchTransport,
  type Outcome,
  type Receipt,
  type Rejected,
  type RejectionReason,
} from "@countersign/client";
import { stat } from "node:fs/promises";
import {
  checkFunction,
  checkOptionNames,
  HEADERS_SYNONYMS,
  ON_REJECTED_SYNONYMS,
  WRITE_KEY_SYNONYMS,
  type CallType,
  type OptionNames,
} from "@countersign/protocol";
import { UsageError } from "../errors/usage-error.ts";
import { BEGINNING, type Place } from "../input/read-lines.ts";
import { tellingFailures } from "./telling-failures.ts";
import { checkCalls, importCalls, type ImportCall } from "./file-calls.ts";
import { openProgress, type ImportProgress, type ProgressFile } from "./progress-file.ts";

/** Settings of {@link importFile}. */
export interface ImportOptions {
  /** A file with one call on each line, each with a `type` and a `timestamp`. */
  readonly file: string;
  /** The server that accepts the calls, such as `http://127.0.0.1:4010`. */
  readonly server: string;
  /** The write key of the source that the calls belong to. */
  readonly writeKey: string;
  /** More request headers. */
  readonly headers?: Readonly<Record<string, string>> | undefined;
  /** How many requests may be in flight at once. Default: 4. */
  readonly concurrency?: number | undefined;
  /** Starts at the first line, even if an earlier run has stored a position. Default: false. */
  readonly restart?: boolean | undefined;
  /** Milliseconds for which a call is tried again while the server does not answer. Default: 3,600,000. */
  readonly giveUpAfterMs?: number | undefined;
  /** Called with how much of the file is done, from 0 to 1. */
  readonly onProgress?: ((progress: number) => void) | undefined;
  /** Called for each call that the server rejected. */
  readonly onRejected?:
    | ((line: number, outcome: Extract<Outcome, { status: "rejected" }>) => void)
    | undefined;
  /** Called with the reason when calls are tried again, as when the server does not answer. */
  readonly onRetry?: ((problem: string) => void) | undefined;
  /** Stops; calls that were already read are still sent, for at most 10 seconds. */
  readonly signal?: AbortSignal | undefined;
}

const OPTION_NAMES: OptionNames<ImportOptions> = {
  file: true,
  server: true,
  writeKey: WRITE_KEY_SYNONYMS,
  headers: HEADERS_SYNONYMS,
  concurrency: true,
  restart: true,
  giveUpAfterMs: true,
  onProgress: true,
  onRejected: ON_REJECTED_SYNONYMS,
  onRetry: true,
  signal: true,
};

/** The result of an import. The numbers include earlier runs. */
export interface ImportReport {
  readonly delivered: number;
  readonly rejected: number;
  /** The line after which this run began; 0 for the beginning. */
  readonly resumedAfter: number;
  /** The last line before which all are done. */
  readonly line: number;
  readonly done: boolean;
  /** Why it ended before the end of the file. */
  readonly stopped?: string | undefined;
}

const SAVE_EVERY_MS = 1_000;
/** How long the calls that were read are sent for when an import is stopped, in milliseconds. */
export const CLOSE_MS = 10_000;
const BATCH = 250;
const QUEUE = 2_500;
/** What a server says of one call. Any other refusal is about the server or the write key, and every call gets it. */
const OF_ONE_CALL: ReadonlySet<RejectionReason> = new Set(["bad-request", "too-large"]);
const UNSAVED = "Its progress cannot be stored.";

/**
 * Imports past calls into a server, in the order of the file. Every call is checked before the first one is
 * sent. Its position is kept in a file beside it, so that the next run continues there, also after a kill.
 * Calls that are then sent again have the same `messageId`, by which the server recognises them.
 *
 * @throws UsageError when the file cannot be read, has no call or a line that is not a call, or has changed since an earlier run.
 * @throws TypeError for an option that is unknown or wrong.
 * @example
 * ```ts
 * const report = await importFile({ file: "calls.jsonl", server: "http://127.0.0.1:4010", writeKey: "any" });
 * if (!report.done) console.error(report.stopped);
 * ```
 */
export async function importFile(options: ImportOptions): Promise<ImportReport> {
  checkOptionNames("importFile()", options, OPTION_NAMES);
  checkFunction("importFile({ onProgress })", options.onProgress);
  checkFunction("importFile({ onRejected })", options.onRejected);
  checkFunction("importFile({ onRetry })", options.onRetry);
  const { file, server, restart = false } = options;
  const progress = await openProgress(file, server, restart);
  const after = progress.earlier?.place ?? BEGINNING;
  const { size } = await stat(file);
  const count = await checkCalls(file, after, size);
  if (count === 0 && progress.earlier === undefined)
    throw new UsageError(`${file} has no calls. Write one call on each line.`);
  return new Import(options, progress, after, size).run();
}

/** A call on its way. */
interface OnItsWay {
  readonly place: Place;
  outcome?: Outcome;
}

/** One run of an import. */
class Import {
  readonly #options: ImportOptions;
  readonly #file: ProgressFile;
  readonly #from: Place;
  readonly #size: number;
  readonly #client: Analytics;
  /** In the order of the file. The first of them has not ended. */
  readonly #onTheirWay: OnItsWay[] = [];
  #place: Place;
  #delivered: number;
  #rejected: number;
  #stopped: string | undefined;
  #savedAt = performance.now();
  #saving: Promise<void> = Promise.resolve();

  constructor(options: ImportOptions, file: ProgressFile, from: Place, size: number) {
    this.#options = options;
    this.#file = file;
    this.#from = from;
    this.#size = size;
    this.#place = from;
    this.#delivered = file.earlier?.delivered ?? 0;
    this.#rejected = file.earlier?.rejected ?? 0;
    this.#client = new Analytics(options.writeKey, {
      endpoint: options.server,
      // Without it, the server answers 200 to a write key that nobody has.
      headers: { ...options.headers, "X-Strict-Mode": "1" },
      flushAt: BATCH,
      maxQueueSize: QUEUE,
      whenFull: "wait",
      maxInFlight: options.concurrency,
      retry: { giveUpAfter: options.giveUpAfterMs },
      transport: tellingFailures(fetchTransport(), {
        retried: (problem) => {
          if (this.#stopped === undefined) options.onRetry?.(problem);
        },
        final: (problem) => this.#stop(problem, 0),
      }),
    });
  }

  async run(): Promise<ImportReport> {
    const { file, signal } = this.#options;
    const onAbort = (): void => this.#stop("It was asked to stop.");
    signal?.addEventListener("abort", onAbort, { once: true });
    if (signal?.aborted) onAbort();
    try {
      // Before anything is sent: a folder that cannot be written is known now, and no earlier position outlives a restart.
      await this.#save(false);
      for await (const call of importCalls(file, this.#from, this.#size)) {
        if (this.#stopped !== undefined) break;
        await this.#send(call);
      }
    } finally {
      await this.#client.close(this.#stopped === undefined ? undefined : CLOSE_MS);
      signal?.removeEventListener("abort", onAbort);
    }
    const isDone = this.#stopped === undefined && this.#onTheirWay.length === 0;
    await this.#save(isDone);
    return {
      delivered: this.#delivered,
      rejected: this.#rejected,
      resumedAfter: this.#from.number,
      line: this.#place.number,
      done: isDone,
      stopped: this.#stopped,
    };
  }

  async #send({ place, type, call }: ImportCall): Promise<void> {
    const entry: OnItsWay = { place };
    this.#onTheirWay.push(entry);
    const receipt = recordWith(this.#client, type, call);
    void receipt.then((outcome) => this.#ended(entry, outcome));
    // Not faster than the server: the queue has room again when this resolves.
    await receipt.accepted;
  }

  #ended(entry: OnItsWay, outcome: Outcome): void {
    entry.outcome = outcome;
    if (outcome.status === "dropped") this.#stop(inOurWords(outcome.detail));
    if (outcome.status === "rejected" && !OF_ONE_CALL.has(outcome.reason)) this.#stop(whyNone(outcome));
    while (this.#onTheirWay[0]?.outcome !== undefined && this.#take(this.#onTheirWay[0])) {
      this.#onTheirWay.shift();
    }
    // If it fails, so does the last one, which reports it.
    if (performance.now() - this.#savedAt >= SAVE_EVERY_MS)
      this.#save(false).catch(() => this.#stop(UNSAVED));
    this.#options.onProgress?.(this.#size === 0 ? 1 : this.#place.end / this.#size);
  }

  /** Counts the first call that is on its way, if no later run needs to send it. */
  #take({ place, outcome }: OnItsWay): boolean {
    if (outcome?.status === "delivered") this.#delivered += 1;
    else if (outcome?.status === "rejected" && OF_ONE_CALL.has(outcome.reason)) {
      this.#rejected += 1;
      this.#options.onRejected?.(place.number, outcome);
    } else return false;
    this.#place = place;
    return true;
  }

  /** @param closeMs How long the calls that were read are still sent for. */
  #stop(reason: string, closeMs = CLOSE_MS): void {
    if (this.#stopped !== undefined) return;
    this.#stopped = reason;
    // What waits for room in the queue is let go.
    void this.#client.close(closeMs);
  }

  #save(done: boolean): Promise<void> {
    this.#savedAt = performance.now();
    const progress: ImportProgress = {
      server: this.#options.server,
      place: this.#place,
      delivered: this.#delivered,
      rejected: this.#rejected,
      done,
    };
    return (this.#saving = this.#saving.then(() => this.#file.save(progress)));
  }
}

function whyNone({ reason, detail }: Rejected): string {
  if (reason !== "unauthorized") return inOurWords(detail);
  return "The server does not accept the write key. Pass the right one with --write-key.";
}

/** The client names its own option. */
function inOurWords(detail: string): string {
  return detail.replace("The endpoint", "The server").replaceAll("`endpoint`", "--server");
}

/** The client checks every field at run time, so the cast claims nothing that is not checked. */
function recordWith(client: Analytics, type: CallType, call: ImportCall["call"]): Receipt {
  return (client[type] as unknown as (this: Analytics, call: ImportCall["call"]) => Receipt).call(
    client,
    call,
  );
}
