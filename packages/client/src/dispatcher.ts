import { noAnswer, readAnswer, type Answer } from "./wire/answer.ts";
import { elapsed } from "./elapsed.ts";
import { requestBody } from "./wire/envelope.ts";
import type { MessageRange } from "./queue/message-range.ts";
import { dropped, type DropReason, type Outcome } from "./outcome.ts";
import { retryDelay } from "./wire/retry.ts";
import type { Settings } from "./settings.ts";
import { gzip, type TransportResponse } from "./wire/transport.ts";

/** Drops a batch, and ends what it waits for: an answer, or the time of a retry. */
type Drop = (reason: DropReason, detail: string) => void;

/**
 * Sends batches until each of their messages has an outcome. A batch keeps its place while it waits for a retry, so that
 * a service that is down is asked by a few, not by all.
 */
export class Dispatcher {
  readonly #settings: Settings;
  readonly #settle: (messages: MessageRange, outcome: Outcome) => void;
  /** The batches that have not ended, as what drops them. */
  readonly #batches = new Set<Drop>();
  /** Nothing is sent before this time. */
  #pausedUntil = 0;
  /** The service asked, with a 429, for no request before this time. */
  #pacedUntil = 0;

  /** @param settle - Called once for every message of every batch. */
  constructor(settings: Settings, settle: (messages: MessageRange, outcome: Outcome) => void) {
    this.#settings = settings;
    this.#settle = settle;
  }

  /** Aborts everything in flight. */
  drop(reason: DropReason, detail: string): void {
    for (const drop of this.#batches) drop(reason, detail);
  }

  /**
   * Sends a batch. Resolves when all its messages are settled, and never rejects.
   *
   * @param mayBeStored - Whether it was part of a batch of which an attempt got no clear answer.
   * @param before - What it waits for at first.
   */
  async send(id: string, messages: MessageRange, mayBeStored = false, before?: Promise<void>): Promise<void> {
    const { clock, retry, requestTimeout, random, ids, log, sanitize } = this.#settings;
    let attempts = 0;
    /** Attempts that failed, without those that a 429 answered with a Retry-After. */
    let failures = 0;
    /** Milliseconds of `retry.giveUpAfter` that are used up. */
    let spent = 0;
    /** When it may be tried again. */
    let notBefore = 0;
    let abort: (() => void) | undefined;
    const end = (outcome: Outcome): void => {
      if (this.#batches.delete(drop)) this.#settle(messages, outcome);
    };
    const fail = (reason: DropReason, detail: string): void => end(dropped(reason, detail, mayBeStored));
    const drop: Drop = (reason, detail) => {
      fail(reason, detail);
      abort?.();
    };
    this.#batches.add(drop);
    await before;
    try {
      while (this.#batches.has(drop)) {
        const now = clock.now();
        // A pause that is longer is one during which the clock was set back.
        this.#pausedUntil = Math.min(this.#pausedUntil, now + Math.max(retry.maxDelay, retry.maxRetryAfter));
        const until = Math.max(this.#pausedUntil, notBefore);
        if (until > now) {
          await new Promise<void>((resolve) => {
            const timer = clock.schedule(until, resolve);
            abort = () => {
              timer.cancel();
              resolve();
            };
          });
          if (!this.#batches.has(drop)) return;
          // Only a batch that has failed uses its time up, and not while the service asked it to wait.
          if (attempts > 0) spent += elapsed(Math.max(now, this.#pacedUntil), until);
          // It is over, also if the clock was set back and shows an earlier time.
          if (this.#pausedUntil <= until) this.#pausedUntil = 0;
          notBefore = 0;
          // A pause can have become longer meanwhile.
          continue;
        }

        attempts += 1;
        const wasStored = mayBeStored;
        // Until its answer is read. Whoever drops the batch before reads it.
        mayBeStored = true;
        const controller = new AbortController();
        abort = () => controller.abort(new Error("the client was closed"));
        const answer = await this.#attempt(id, messages, attempts, wasStored, controller);
        // It took no longer. The machine slept, or its clock was set, and in that time nothing failed.
        spent += Math.min(elapsed(now, clock.now()), requestTimeout);
        if (!this.#batches.has(drop)) return;
        mayBeStored = wasStored;
        if (answer.status === "try-later") {
          mayBeStored ||= answer.mayBeStored;
          if (!answer.paced) failures += 1;
          notBefore = clock.now() + retryDelay({ failures, spent }, answer, retry, random());
          // The others must wait even when this batch is dropped.
          if (answer.pausesAll) this.#pausedUntil = Math.max(this.#pausedUntil, notBefore);
          if (answer.paced) this.#pacedUntil = Math.max(this.#pacedUntil, notBefore);
          if (spent < retry.giveUpAfter) continue;
          const detail = `Gave up after ${attempts} attempts and retry.giveUpAfter (${retry.giveUpAfter} ms). ${answer.detail}`;
          fail("retries-exhausted", detail);
        } else if (
          answer.status === "rejected" &&
          [400, 413].includes(answer.statusCode) &&
          messages.length > 1
        ) {
          log?.(`splitting a batch of ${messages.length}`);
          const [first, second] = messages.halves();
          const [firstId, secondId] = [ids(), ids()];
          this.#batches.delete(drop);
          return this.send(secondId, second, mayBeStored, this.send(firstId, first, mayBeStored));
        } else end(answer);
      }
    } catch (error) {
      fail("internal-error", sanitize(`Something injected into the client threw: ${String(error)}.`));
    }
  }

  async #attempt(
    id: string,
    messages: MessageRange,
    attempts: number,
    mayBeStored: boolean,
    controller: AbortController,
  ): Promise<Answer> {
    const { endpoint: url, headers, requestTimeout, transport, clock, log, sanitize } = this.#settings;
    const { signal } = controller;
    const start = clock.now();
    const timer = clock.schedule(start + requestTimeout, () => {
      controller.abort(new Error(`nothing within ${requestTimeout} ms`));
    });
    const quote = (text: string): string => sanitize(text).slice(0, 200);
    try {
      const plain = requestBody(id, messages, start);
      const body = this.#settings.gzip ? await gzip(plain).finally(clock.hold()) : plain;
      // It may have been dropped meanwhile, and not every transport looks at the signal first.
      signal.throwIfAborted();
      // As the published clients send it: absent from a first attempt.
      const count = attempts > 1 && { "X-Retry-Count": String(attempts - 1) };
      const request = { url, headers: { ...headers, ...count }, body, signal };
      // A transport that does not heed its signal must not hold its place for ever.
      const response = await new Promise<TransportResponse>((resolve, reject) => {
        signal.addEventListener("abort", () => reject(signal.reason as Error));
        transport.send(request).then(resolve, reject);
      });
      const { status } = response;
      log?.(`response ${status}${status < 300 ? "" : ` – ${quote(response.body)}`}`);
      return readAnswer(response, clock.now(), quote, mayBeStored);
    } catch (error) {
      const answer = noAnswer(error, sanitize);
      log?.(`error sending request: ${answer.detail}`);
      return answer;
    } finally {
      timer.cancel();
    }
  }
}
