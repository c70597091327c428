import type { Clock } from "@countersign/protocol";
import { noAnswer, readAnswer, type Answer, type TryLater } from "./answer.ts";
import { elapsed } from "./elapsed.ts";
import { createEnvelope, type Envelope } from "./envelope.ts";
import type { Log } from "./log.ts";
import type { Messages } from "./messages.ts";
import { dropped, type DropReason, type Outcome } from "./outcome.ts";
import { retryDelay, type RetryPolicy } from "./retry.ts";
import { gzip, type Transport } from "./transport.ts";

/** The parts that a {@link Dispatcher} uses. */
export interface DispatcherOptions {
  readonly endpoint: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly gzip: boolean;
  readonly requestTimeout: number;
  readonly retry: RetryPolicy;
  readonly transport: Transport;
  readonly clock: Clock;
  readonly ids: () => string;
  readonly random: () => number;
  /** Called once for every message of every batch. */
  readonly settle: (messages: Messages, outcome: Outcome) => void;
  readonly log?: Log | undefined;
  /** Makes what an endpoint said fit for a log, without the write key. */
  readonly sanitize: (text: string) => string;
}

interface Batch {
  readonly messages: Messages;
  readonly envelope: Envelope;
  attempts: number;
  /** Attempts that failed, without those that a 429 answered with a Retry-After. */
  failures: number;
  /** Milliseconds of `retry.giveUpAfter` that are used up. */
  spent: number;
  /** When it may be tried again. */
  notBefore: number;
  /** An attempt went out and got no clear answer. */
  mayBeStored: boolean;
}

function createBatch(messages: Messages, envelope: Envelope, mayBeStored = false): Batch {
  return { messages, envelope, attempts: 0, failures: 0, spent: 0, notBefore: 0, mayBeStored };
}

/** One place among the requests in flight: a batch, and what a bisection made of it. */
interface Slot {
  /** The last one is next. There is none when the slot is abandoned. */
  readonly todo: Batch[];
  /** Ends what it waits for: an answer, or the time of a retry. */
  interrupt: () => void;
}

/**
 * Sends batches until each of their messages has an outcome. A batch keeps its place while it waits for a retry, so that
 * a service that is down is asked by a few, not by all.
 */
export class Dispatcher {
  readonly #options: DispatcherOptions;
  readonly #slots = new Set<Slot>();
  /** Nothing is sent before this time. */
  #pausedUntil = 0;
  /** The service asked, with a 429, for no request before this time. */
  #pacedUntil = 0;

  constructor(options: DispatcherOptions) {
    this.#options = options;
  }

  /** Batches in flight, including those that wait for a retry. */
  get active(): number {
    return this.#slots.size;
  }

  /** Sends a batch. Resolves when all its messages are settled, and never rejects. */
  async dispatch(messages: Messages, envelope: Envelope): Promise<void> {
    const slot: Slot = { todo: [createBatch(messages, envelope)], interrupt: () => {} };
    this.#slots.add(slot);
    try {
      for (let batch = slot.todo.at(-1); batch; batch = slot.todo.at(-1)) await this.#step(slot, batch);
    } catch (error) {
      const detail = this.#options.sanitize(`Something injected into the client threw: ${String(error)}.`);
      this.#giveUp(slot, "internal-error", detail);
    } finally {
      this.#slots.delete(slot);
    }
  }

  /** Aborts everything in flight. */
  abandon(reason: DropReason, detail: string): void {
    for (const slot of this.#slots) {
      this.#giveUp(slot, reason, detail);
      slot.interrupt();
    }
  }

  #giveUp(slot: Slot, reason: DropReason, detail: string): void {
    for (const { messages, mayBeStored } of slot.todo.splice(0)) {
      this.#options.settle(messages, dropped(reason, detail, mayBeStored));
    }
  }

  /** One attempt at the batch on top, and what follows from it. */
  async #step(slot: Slot, batch: Batch): Promise<void> {
    const { clock, settle, log } = this.#options;
    await this.#wait(slot, batch);
    if (slot.todo.length === 0) return;

    const before = batch.mayBeStored;
    // Until there is an answer. Whoever abandons the slot meanwhile reads it.
    batch.mayBeStored = true;
    batch.attempts += 1;
    const since = clock.now();
    const answer = await this.#attempt(slot, batch);
    if (slot.todo.length === 0) return;
    batch.spent += elapsed(since, clock.now());
    batch.mayBeStored = before;

    if (answer.kind === "try-later") return this.#tryLater(slot, batch, answer);
    if (answer.kind === "refused" && answer.divisible && batch.messages.length > 1) {
      log?.(`splitting a batch of ${batch.messages.length}`);
      slot.todo.splice(-1, 1, ...this.#bisect(batch));
      return;
    }
    slot.todo.pop();
    if (answer.kind === "accepted") return settle(batch.messages, { status: "delivered" });
    const { reason, statusCode, detail } = answer;
    settle(batch.messages, {
      status: "rejected",
      reason,
      statusCode,
      detail,
      mayBeStored: batch.mayBeStored,
    });
  }

  #tryLater(slot: Slot, batch: Batch, answer: TryLater): void {
    const { clock, retry, random, settle } = this.#options;
    batch.mayBeStored ||= answer.mayBeStored;
    if (!answer.paced) batch.failures += 1;
    const delay = retryDelay(batch, answer, retry, random());
    // The others must wait even when this batch is dropped.
    const until = clock.now() + (delay ?? Math.min(answer.retryAfter ?? 0, retry.maxRetryAfter));
    if (answer.pausesAll) this.#pausedUntil = Math.max(this.#pausedUntil, until);
    if (answer.paced) this.#pacedUntil = Math.max(this.#pacedUntil, until);
    batch.notBefore = until;
    if (delay !== undefined) return;

    slot.todo.pop();
    const detail = `Gave up after ${batch.attempts} attempts and retry.giveUpAfter (${retry.giveUpAfter} ms). ${answer.detail}`;
    settle(batch.messages, dropped("retries-exhausted", detail, batch.mayBeStored));
  }

  /** The second half first: the batch on top is next. */
  #bisect({ messages, mayBeStored }: Batch): Batch[] {
    const [first, second] = messages.halves();
    return [second, first].map((half) => {
      return createBatch(half, createEnvelope(this.#options.ids()), mayBeStored);
    });
  }

  async #attempt(slot: Slot, batch: Batch): Promise<Answer> {
    const { endpoint: url, headers, requestTimeout, transport, clock, log, sanitize } = this.#options;
    const abort = new AbortController();
    slot.interrupt = () => abort.abort(new Error("the client was closed"));
    const timer = clock.schedule(clock.now() + requestTimeout, () => {
      abort.abort(new Error(`nothing within ${requestTimeout} ms`));
    });
    try {
      const plain = batch.envelope.write(batch.messages, clock.now());
      const body = this.#options.gzip ? await this.#zip(plain) : plain;
      // As the published clients send it: absent from a first attempt.
      const count = batch.attempts > 1 ? { "X-Retry-Count": String(batch.attempts - 1) } : undefined;
      // A transport that does not heed its signal must not hold its place for ever.
      const response = await orAborted(
        transport.send({ url, headers: { ...headers, ...count }, body, signal: abort.signal }),
        abort.signal,
      );
      const said = response.status < 300 ? "" : ` – ${sanitize(response.body).slice(0, 200)}`;
      log?.(`response ${response.status}${said}`);
      return readAnswer(response, clock.now(), sanitize);
    } catch (error) {
      const answer = noAnswer(error, sanitize);
      log?.(`error sending request: ${answer.detail}`);
      return answer;
    } finally {
      timer.cancel();
    }
  }

  /** Waits until the batch may be sent. */
  async #wait(slot: Slot, batch: Batch): Promise<void> {
    const { clock } = this.#options;
    const since = clock.now();
    const until = (): number => Math.max(this.#pausedUntil, batch.notBefore);
    // A pause can become longer meanwhile.
    for (let at = until(); at > clock.now(); at = until()) {
      await new Promise<void>((resolve) => {
        const timer = clock.schedule(at, resolve);
        slot.interrupt = () => {
          timer.cancel();
          resolve();
        };
      });
      if (slot.todo.length === 0) return;
      // It is over, also if the clock was set back and shows an earlier time.
      if (this.#pausedUntil <= at) this.#pausedUntil = 0;
      batch.notBefore = 0;
    }
    // Only a batch that has failed uses its time up, and not while the service asked it to wait.
    if (batch.attempts > 0) batch.spent += elapsed(Math.max(since, this.#pacedUntil), clock.now());
  }

  async #zip(plain: Uint8Array<ArrayBuffer>): Promise<Uint8Array<ArrayBuffer>> {
    const release = this.#options.clock.hold();
    try {
      return await gzip(plain);
    } finally {
      release();
    }
  }
}

function orAborted<Value>(promise: Promise<Value>, signal: AbortSignal): Promise<Value> {
  return new Promise((resolve, reject) => {
    signal.addEventListener("abort", () => reject(signal.reason as Error), { once: true });
    promise.then(resolve, reject);
  });
}
