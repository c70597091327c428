import { noAnswer, readAnswer, type Answer, type TryLater } from "./answer.ts";
import { elapsed } from "./elapsed.ts";
import { requestBody } from "./envelope.ts";
import type { Messages } from "./messages.ts";
import { dropped, type DropReason, type Outcome } from "./outcome.ts";
import { retryDelay } from "./retry.ts";
import type { Settings } from "./settings.ts";
import { gzip } from "./transport.ts";

interface Batch {
  readonly id: string;
  readonly messages: Messages;
  attempts: number;
  /** Attempts that failed, without those that a 429 answered with a Retry-After. */
  failures: number;
  /** Milliseconds of `retry.giveUpAfter` that are used up. */
  spent: number;
  /** When it may be tried again. */
  notBefore: number;
  /** An attempt went out and got no clear answer. */
  mayBeStored: boolean;
  /** Ends what it waits for: an answer, or the time of a retry. */
  abort: () => void;
}

function createBatch(id: string, messages: Messages, mayBeStored = false): Batch {
  return {
    id,
    messages,
    attempts: 0,
    failures: 0,
    spent: 0,
    notBefore: 0,
    mayBeStored,
    abort: () => {},
  };
}

/**
 * Sends batches until each of their messages has an outcome. A batch keeps its place while it waits for a retry, so that
 * a service that is down is asked by a few, not by all.
 */
export class Dispatcher {
  readonly #settings: Settings;
  readonly #settle: (messages: Messages, outcome: Outcome) => void;
  /** Batches that have not ended. */
  readonly #batches = new Set<Batch>();
  /** Nothing is sent before this time. */
  #pausedUntil = 0;
  /** The service asked, with a 429, for no request before this time. */
  #pacedUntil = 0;

  /** @param settle - Called once for every message of every batch. */
  constructor(settings: Settings, settle: (messages: Messages, outcome: Outcome) => void) {
    this.#settings = settings;
    this.#settle = settle;
  }

  /** Sends a batch. Resolves when all its messages are settled, and never rejects. */
  send(id: string, messages: Messages): Promise<void> {
    return this.#send([createBatch(id, messages)]);
  }

  /** Aborts everything in flight. */
  drop(reason: DropReason, detail: string): void {
    for (const batch of this.#batches) {
      this.#drop(batch, reason, detail);
      batch.abort();
    }
  }

  #end(batch: Batch, outcome: Outcome): void {
    if (this.#batches.delete(batch)) this.#settle(batch.messages, outcome);
  }

  #drop(batch: Batch, reason: DropReason, detail: string): void {
    this.#end(batch, dropped(reason, detail, batch.mayBeStored));
  }

  /** Sends batches, one after the other. */
  async #send(batches: readonly Batch[]): Promise<void> {
    for (const batch of batches) this.#batches.add(batch);
    for (const batch of batches) {
      try {
        while (this.#batches.has(batch)) await this.#step(batch);
      } catch (error) {
        const detail = `Something injected into the client threw: ${String(error)}.`;
        this.#drop(batch, "internal-error", this.#settings.sanitize(detail));
      }
    }
  }

  /** One attempt at a batch, and what follows from it. */
  async #step(batch: Batch): Promise<void> {
    await this.#wait(batch);
    if (!this.#batches.has(batch)) return;
    const { mayBeStored } = batch;
    const answer = await this.#attempt(batch, mayBeStored);
    if (!this.#batches.has(batch)) return;
    batch.mayBeStored = mayBeStored;
    if (answer.status === "try-later") return this.#tryLater(batch, answer);
    const isDivisible = answer.status === "rejected" && [400, 413].includes(answer.statusCode);
    if (isDivisible && batch.messages.length > 1) return this.#split(batch);
    this.#end(batch, answer);
  }

  #tryLater(batch: Batch, answer: TryLater): void {
    const { clock, retry, random } = this.#settings;
    batch.mayBeStored ||= answer.mayBeStored;
    if (!answer.paced) batch.failures += 1;
    const until = clock.now() + retryDelay(batch, answer, retry, random());
    // The others must wait even when this batch is dropped.
    if (answer.pausesAll) this.#pausedUntil = Math.max(this.#pausedUntil, until);
    if (answer.paced) this.#pacedUntil = Math.max(this.#pacedUntil, until);
    batch.notBefore = until;
    if (batch.spent < retry.giveUpAfter) return;
    const detail = `Gave up after ${batch.attempts} attempts and retry.giveUpAfter (${retry.giveUpAfter} ms). ${answer.detail}`;
    this.#drop(batch, "retries-exhausted", detail);
  }

  #split(batch: Batch): Promise<void> {
    const { log, ids } = this.#settings;
    log?.(`splitting a batch of ${batch.messages.length}`);
    const halves = batch.messages.halves().map((half) => createBatch(ids(), half, batch.mayBeStored));
    this.#batches.delete(batch);
    return this.#send(halves);
  }

  async #attempt(batch: Batch, mayBeStored: boolean): Promise<Answer> {
    const { endpoint: url, headers, requestTimeout, transport, clock, log, sanitize } = this.#settings;
    // Until its answer is read. Whoever drops the batch before reads it.
    batch.mayBeStored = true;
    batch.attempts += 1;
    const start = clock.now();
    const abort = new AbortController();
    batch.abort = () => abort.abort(new Error("the client was closed"));
    const timer = clock.schedule(start + requestTimeout, () => {
      abort.abort(new Error(`nothing within ${requestTimeout} ms`));
    });
    const quote = (text: string): string => sanitize(text).slice(0, 200);
    try {
      const plain = requestBody(batch.id, batch.messages, start);
      const body = this.#settings.gzip ? await this.#zip(plain) : plain;
      // It may have been dropped meanwhile, and not every transport looks at the signal first.
      abort.signal.throwIfAborted();
      // As the published clients send it: absent from a first attempt.
      const count = batch.attempts > 1 ? { "X-Retry-Count": String(batch.attempts - 1) } : undefined;
      // A transport that does not heed its signal must not hold its place for ever.
      const response = await orAborted(
        transport.send({ url, headers: { ...headers, ...count }, body, signal: abort.signal }),
        abort.signal,
      );
      const { status } = response;
      log?.(`response ${status}${status < 300 ? "" : ` – ${quote(response.body)}`}`);
      return readAnswer(response, clock.now(), quote, mayBeStored);
    } catch (error) {
      const answer = noAnswer(error, sanitize);
      log?.(`error sending request: ${answer.detail}`);
      return answer;
    } finally {
      timer.cancel();
      // It took no longer. The machine slept, or its clock was set, and in that time nothing failed.
      batch.spent += Math.min(elapsed(start, clock.now()), requestTimeout);
    }
  }

  /** Waits until the batch may be sent. */
  async #wait(batch: Batch): Promise<void> {
    const { clock } = this.#settings;
    const until = (): number => Math.max(this.#pausedUntil, batch.notBefore);
    // A pause can become longer meanwhile.
    for (let at = until(); at > clock.now(); at = until()) {
      const since = clock.now();
      await new Promise<void>((resolve) => {
        const timer = clock.schedule(at, resolve);
        batch.abort = () => {
          timer.cancel();
          resolve();
        };
      });
      if (!this.#batches.has(batch)) return;
      // Only a batch that has failed uses its time up, and not while the service asked it to wait.
      if (batch.attempts > 0) batch.spent += elapsed(Math.max(since, this.#pacedUntil), at);
      // It is over, also if the clock was set back and shows an earlier time.
      if (this.#pausedUntil <= at) this.#pausedUntil = 0;
      batch.notBefore = 0;
    }
  }

  async #zip(plain: Uint8Array<ArrayBuffer>): Promise<Uint8Array<ArrayBuffer>> {
    const release = this.#settings.clock.hold();
    try {
      return await gzip(plain);
    } finally {
      release();
    }
  }
}

function orAborted<Value>(promise: Promise<Value>, signal: AbortSignal): Promise<Value> {
  return new Promise((resolve, reject) => {
    signal.addEventListener("abort", () => reject(signal.reason as Error));
    promise.then(resolve, reject);
  });
}
