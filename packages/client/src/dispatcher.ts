import { noAnswer, readAnswer, type Answer, type TryLater } from "./answer.ts";
import type { Clock } from "./clock.ts";
import { createEnvelope, type Envelope } from "./envelope.ts";
import type { Log } from "./log.ts";
import type { QueuedMessage } from "./message-queue.ts";
import type { DropReason, Outcome } from "./outcome.ts";
import { retryDelay, type RetryPolicy } from "./retry.ts";
import { gzip, type Transport } from "./transport.ts";

/** What a {@link Dispatcher} works with. */
export interface DispatcherOptions {
  readonly url: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly gzip: boolean;
  readonly requestTimeout: number;
  readonly retry: RetryPolicy;
  readonly transport: Transport;
  readonly clock: Clock;
  readonly ids: () => string;
  readonly random: () => number;
  /** Called once for every message of every batch. */
  readonly settle: (messages: readonly QueuedMessage[], outcome: Outcome) => void;
  readonly log: Log | undefined;
  /** Takes the write key out of what an endpoint said. */
  readonly redact: (text: string) => string;
}

interface Batch {
  readonly messages: readonly QueuedMessage[];
  readonly envelope: Envelope;
  attempts: number;
  /** An attempt went out and got no clear answer. */
  mayBeStored: boolean;
}

/** One place among the requests in flight: a batch, and what a bisection made of it. */
interface Slot {
  readonly todo: Batch[];
  readonly abort: AbortController;
}

/**
 * Sends batches until each of their messages has an outcome. A batch keeps its place while it waits for a retry, so that
 * a service that is down is asked by a few, not by all.
 */
export class Dispatcher {
  readonly #options: DispatcherOptions;
  readonly #slots = new Set<Slot>();
  #pausedUntil = 0;

  constructor(options: DispatcherOptions) {
    this.#options = options;
  }

  /** Batches on their way, those that wait for a retry included. */
  get active(): number {
    return this.#slots.size;
  }

  /** Sends a batch. Resolves when all its messages are settled, and never rejects. */
  async dispatch(messages: readonly QueuedMessage[], envelope: Envelope): Promise<void> {
    const first: Batch = { messages, envelope, attempts: 0, mayBeStored: false };
    const slot: Slot = { todo: [first], abort: new AbortController() };
    this.#slots.add(slot);
    try {
      for (let batch = slot.todo.at(-1); batch; batch = slot.todo.at(-1)) await this.#step(slot, batch);
    } catch (error) {
      const detail = `Something injected into the client threw: ${String(error)}.`;
      this.#giveUp(slot, "internal-error", detail);
    } finally {
      this.#slots.delete(slot);
    }
  }

  /** Gives up everything on its way. */
  abandon(reason: DropReason, detail: string): void {
    for (const slot of this.#slots) {
      this.#giveUp(slot, reason, detail);
      slot.abort.abort();
    }
  }

  #giveUp(slot: Slot, reason: DropReason, detail: string): void {
    for (const { messages, mayBeStored } of slot.todo.splice(0)) {
      this.#options.settle(messages, { status: "dropped", reason, detail, mayBeStored });
    }
  }

  /** One attempt at the batch on top, and what follows from it. */
  async #step(slot: Slot, batch: Batch): Promise<void> {
    const { clock, settle, log } = this.#options;
    while (this.#pausedUntil > clock.now() && !slot.abort.signal.aborted) {
      await this.#sleep(this.#pausedUntil - clock.now(), slot.abort.signal);
    }
    if (slot.abort.signal.aborted) return;

    const before = batch.mayBeStored;
    // Until there is an answer. Whoever abandons the slot meanwhile reads it.
    batch.mayBeStored = true;
    batch.attempts += 1;
    const answer = await this.#attempt(batch, slot.abort.signal);
    if (slot.abort.signal.aborted) return;
    batch.mayBeStored = before;

    if (answer.kind === "try-later") return this.#tryLater(slot, batch, answer);
    slot.todo.pop();
    if (answer.kind === "accepted") return settle(batch.messages, { status: "delivered" });
    if (answer.divisible && batch.messages.length > 1) {
      log?.(`splitting a batch of ${batch.messages.length}`);
      slot.todo.push(...this.#bisect(batch));
      return;
    }
    const { reason, statusCode, detail } = answer;
    settle(batch.messages, {
      status: "rejected",
      reason,
      statusCode,
      detail,
      mayBeStored: batch.mayBeStored,
    });
  }

  async #tryLater(slot: Slot, batch: Batch, answer: TryLater): Promise<void> {
    const { clock, retry, random, settle } = this.#options;
    batch.mayBeStored ||= answer.mayBeStored;
    const delay = retryDelay(batch.attempts, answer, retry, random());
    // The others must hear of it even when this batch gives up.
    const pause = delay ?? Math.min(answer.retryAfter ?? 0, retry.maxRetryAfter);
    if (answer.pausesAll) this.#pausedUntil = Math.max(this.#pausedUntil, clock.now() + pause);
    if (delay !== undefined) return this.#sleep(delay, slot.abort.signal);

    slot.todo.pop();
    const detail = `Gave up after ${batch.attempts} attempts. ${answer.detail}`;
    const { mayBeStored } = batch;
    settle(batch.messages, { status: "dropped", reason: "retries-exhausted", detail, mayBeStored });
  }

  /** The second half first: the batch on top is next. */
  #bisect({ messages, mayBeStored }: Batch): Batch[] {
    const middle = Math.ceil(messages.length / 2);
    return [messages.slice(middle), messages.slice(0, middle)].map((half) => {
      return { messages: half, envelope: createEnvelope(this.#options.ids()), attempts: 0, mayBeStored };
    });
  }

  async #attempt(batch: Batch, abandoned: AbortSignal): Promise<Answer> {
    const { url, headers, requestTimeout, transport, clock, log, redact } = this.#options;
    const abort = new AbortController();
    const giveUp = (): void => abort.abort(new Error("the client was closed"));
    abandoned.addEventListener("abort", giveUp);
    const timer = clock.setTimeout(() => {
      abort.abort(new Error(`nothing within ${requestTimeout} ms`));
    }, requestTimeout);
    try {
      const plain = batch.envelope.write(batch.messages, clock.now());
      const body = this.#options.gzip ? await gzip(plain) : plain;
      // A transport that does not heed its signal must not hold its place for ever.
      const response = await orAborted(
        transport.send({ url, headers, body, signal: abort.signal }),
        abort.signal,
      );
      log?.(`response ${response.status}${response.status < 300 ? "" : ` – ${response.body.slice(0, 200)}`}`);
      return readAnswer({ ...response, body: redact(response.body) }, clock.now());
    } catch (error) {
      const answer = noAnswer(error);
      log?.(`error sending request: ${answer.detail}`);
      return answer;
    } finally {
      clock.clearTimeout(timer);
      abandoned.removeEventListener("abort", giveUp);
    }
  }

  #sleep(milliseconds: number, abandoned: AbortSignal): Promise<void> {
    const { clock } = this.#options;
    return new Promise((resolve) => {
      const wake = (): void => {
        clock.clearTimeout(timer);
        abandoned.removeEventListener("abort", wake);
        resolve();
      };
      const timer = clock.setTimeout(wake, milliseconds);
      abandoned.addEventListener("abort", wake);
    });
  }
}

function orAborted<Value>(promise: Promise<Value>, signal: AbortSignal): Promise<Value> {
  return new Promise((resolve, reject) => {
    signal.addEventListener("abort", () => reject(signal.reason as Error), { once: true });
    promise.then(resolve, reject);
  });
}
