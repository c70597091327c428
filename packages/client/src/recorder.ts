import { MAX_BATCH_BYTES, MAX_BATCH_MESSAGES, type Clock, type ScheduledTask } from "@countersign/protocol";
import { applyBeforeSend } from "./before-send.ts";
import { Dispatcher } from "./dispatcher.ts";
import { elapsed } from "./elapsed.ts";
import { requestBody } from "./wire/envelope.ts";
import { enroll, keepAlive, type Exiting } from "./exit.ts";
import { hookOf } from "./hooks.ts";
import { MessageQueue, NO_MESSAGES } from "./queue/message-queue.ts";
import type { MessageRange } from "./queue/message-range.ts";
import {
  dropped,
  type Counts,
  type Dropped,
  type DropReason,
  type Outcome,
  type Undelivered,
} from "./outcome.ts";
import { endedAs, PendingReceipt, type Receipt } from "./receipt.ts";
import type { SerializedCall } from "./serialize.ts";
import { machineClock, type Settings } from "./settings.ts";
import { undelivered } from "./queue/undelivered.ts";

/** Milliseconds after the start of a request in which messages that are due wait for others. */
const GATHERING = 50;

/** From the queued call to its outcome: when to flush, what to send, who waits for it, and the account of it all. */
export class Recorder implements Exiting {
  readonly #settings: Settings;
  readonly #queue: MessageQueue;
  readonly #dispatcher: Dispatcher;
  /** Those who wait until some messages have ended. */
  readonly #waiting = new Set<(ended: MessageRange) => void>();
  readonly #ended: Record<Outcome["status"], number> = { delivered: 0, rejected: 0, dropped: 0 };
  #pending = 0;
  /** Batches on their way, including those that wait for a retry. The parts of one that was split count as one. */
  #requests = 0;
  #lastFlush: number;
  #timer: ScheduledTask | undefined;
  #pumpScheduled = false;
  #gathering: ScheduledTask | undefined;
  /** When the last request was started. */
  #lastRequest = -Infinity;
  /** The messages before this one wait for no others. */
  #urgent = 0;
  #closing: Promise<Counts> | undefined;
  /** How everything ends at this moment, and with it what a hook records: it would have to be dropped in turn, without end. */
  #abandoned: Dropped | undefined;

  constructor(settings: Settings) {
    this.#settings = settings;
    this.#queue = new MessageQueue(settings, (isUrgent) => this.#flushed(isUrgent));
    this.#dispatcher = new Dispatcher(settings, (messages, outcome) => {
      this.#queue.free(messages);
      this.#settle(messages, outcome);
      this.#proceed();
    });
    this.#lastFlush = settings.clock.now();
    if (settings.flushOnSignals) enroll("signals", this, true);
  }

  get counts(): Counts {
    const { delivered, rejected, dropped } = this.#ended;
    return { delivered, failed: rejected, dropped, pending: this.#pending };
  }

  record(recorded: SerializedCall): Receipt {
    const { log, flushAt } = this.#settings;
    const call = this.#screen(recorded);
    // A call that is dropped here keeps the form in which it was recorded.
    if ("status" in call) return this.#refuse(recorded, call);
    log?.(`buffer (${this.#queue.undue}/${flushAt}) ${call.json}`);
    const replaced = this.#queue.offer(call.json);
    // Counted before anything is sent.
    const receipt = replaced ? this.#admit(call.messageId, replaced) : this.#refuse(call, QUEUE_FULL);
    // Now that it has its receipt: a log may record, too.
    if (this.#queue.undue === 0) log?.(`exceeded ${flushAt} messages – flushing`);
    this.#proceed();
    return receipt;
  }

  async flush(deadline?: number, clock?: Clock): Promise<Counts> {
    this.#flushNow();
    const end = this.#queue.next;
    let remaining = this.#pending;
    let stop: (() => void) | undefined;
    const timer = this.#after(deadline, () => stop?.(), clock);
    const release = keepAlive();
    const tell = ({ from, to }: MessageRange): void => {
      remaining -= Math.max(0, Math.min(to, end) - from);
      if (remaining <= 0) stop?.();
    };
    this.#waiting.add(tell);
    if (remaining > 0) await new Promise<void>((resolve) => (stop = resolve));
    // Also at the deadline: in an outage there may be one for each request to the application.
    this.#waiting.delete(tell);
    timer?.cancel();
    release();
    return this.counts;
  }

  async close(deadline?: number): Promise<Counts> {
    this.#closing ??= this.#finish();
    const timer = this.#after(deadline, () => {
      this.#abandon("deadline", "The deadline of close() was over.");
    });
    return this.#closing.finally(() => timer?.cancel());
  }

  async drain(): Promise<void> {
    const { exitTimeout } = this.#settings;
    let timer = this.#after(
      exitTimeout,
      () => {
        timer = undefined;
        this.#abandon("deadline", `The process ended, and exitTimeout (${exitTimeout} ms) was over.`);
      },
      machineClock,
    );
    const isTime = (): boolean => timer !== undefined && this.#pending > 0;
    // Whoever handles the same signal may still record.
    while (isTime()) await this.flush();
    timer?.cancel();
  }

  hasten(): Promise<Counts> {
    return this.flush(this.#settings.exitTimeout, machineClock);
  }

  drop(): void {
    this.#abandon("exit", "The process ended at once. Await close() first.");
  }

  async #finish(): Promise<Counts> {
    const { log } = this.#settings;
    log?.("exit requested – draining msgs");
    log?.(`exit requested – flushing ${this.#queue.undue}`);
    // Not yet: a hook that records during the flush must find the client closed.
    await Promise.resolve();
    await this.flush();
    enroll("signals", this, false);
    log?.("exit");
    return this.counts;
  }

  /** The call as it is to be sent, or why it will not be. */
  #screen(call: SerializedCall): SerializedCall | Dropped {
    const { disable, beforeSend } = this.#settings;
    if (this.#closing) return CLOSED;
    if (this.#abandoned) return this.#abandoned;
    if (disable) return DISABLED;
    return beforeSend ? applyBeforeSend(beforeSend, call, this.#settings) : call;
  }

  /** Flushes at once if enough is queued, else when the interval has passed. */
  #proceed(): void {
    const { clock, flushAfter } = this.#settings;
    if (this.#queue.ready > 0) this.#schedulePump();
    if (this.#queue.undue === 0 || this.#timer !== undefined) return;
    // An interval in which nothing was queued is over, too.
    const wait = flushAfter - (elapsed(this.#lastFlush, clock.now()) % flushAfter);
    this.#timer = this.#after(wait, () => {
      this.#settings.log?.(`interval reached – flushing ${this.#queue.undue}`);
      this.#flushNow();
    });
  }

  #flushNow(): void {
    this.#queue.flush(true);
    this.#pump();
  }

  /** The interval counts from the last flush. */
  #flushed(isUrgent: boolean): void {
    if (isUrgent) this.#urgent = this.#queue.next;
    this.#lastFlush = this.#settings.clock.now();
    this.#timer?.cancel();
    this.#timer = undefined;
  }

  /** A call makes no request itself: the request starts when the caller's code has run (spec 4.2). */
  #schedulePump(): void {
    if (this.#pumpScheduled) return;
    this.#pumpScheduled = true;
    queueMicrotask(() => {
      this.#pumpScheduled = false;
      this.#pump();
    });
  }

  /** Starts requests. Shortly after another one it waits for more messages, since a request costs as much as some hundred of them. */
  #pump(): void {
    const { clock, ids, flushAt, maxInFlight } = this.#settings;
    try {
      while (this.#queue.ready > 0 && this.#requests < maxInFlight) {
        const isTime = flushAt === 1 || this.#queue.taken < this.#urgent || this.#queue.fillsRequest;
        const wait = isTime ? 0 : GATHERING - elapsed(this.#lastRequest, clock.now());
        if (wait > 0) {
          this.#gathering ??= this.#after(wait, () => {
            this.#gathering = undefined;
            this.#urgent = this.#queue.taken + this.#queue.ready;
            this.#pump();
          });
          return;
        }
        this.#gathering?.cancel();
        this.#gathering = undefined;
        const id = ids();
        const messages = this.#queue.take(
          flushAt === 1 ? 1 : MAX_BATCH_MESSAGES,
          MAX_BATCH_BYTES - requestBody(id, NO_MESSAGES, 0).length,
        );
        this.#lastRequest = clock.now();
        this.#requests += 1;
        void this.#dispatcher.send(id, messages).then(() => {
          this.#requests -= 1;
          this.#proceed();
        });
      }
    } catch (error) {
      // There is no caller to notify: this runs by itself.
      this.#abandon("internal-error", this.#settings.sanitize(`'ids' threw: ${String(error)}.`));
    }
  }

  #abandon(reason: DropReason, detail: string): void {
    // First, so that the room that is freed lets in no one who would be thrown out again.
    const messages = this.#queue.takeAll();
    this.#abandoned = dropped(reason, detail);
    this.#dispatcher.drop(reason, detail);
    this.#settle(messages, this.#abandoned);
    this.#abandoned = undefined;
  }

  /** A message was taken in; those it replaced have ended. */
  #admit(messageId: string, replaced: MessageRange): Receipt {
    const receipt = this.#queue.receipt(messageId);
    this.#pending += 1;
    if (this.#pending === 1) enroll("busy", this, true);
    if (replaced.length > 0) this.#settle(replaced, QUEUE_FULL);
    return receipt;
  }

  /** A call ends that was never queued. */
  #refuse({ messageId, type, json }: SerializedCall, outcome: Dropped): Receipt {
    this.#ended.dropped += 1;
    // A hook is not told of a call that it made itself, without end.
    if (!this.#queue.keepsAll) {
      hookOf(outcome, this.#settings, this.#queue)?.({ messageId, type, json, outcome });
    }
    return new PendingReceipt(messageId, endedAs(outcome), 0);
  }

  #settle(messages: MessageRange, outcome: Outcome): void {
    for (const { block, from, to } of messages.spans) block.settle(from, to, outcome);
    this.#ended[outcome.status] += messages.length;
    this.#pending -= messages.length;
    // First, since a hook may wait for others.
    for (const tell of this.#waiting) tell(messages);
    const hook = hookOf(outcome, this.#settings, this.#queue);
    for (const { block, from, to } of messages.spans) {
      if (hook) {
        for (let number = from; number < to; number += 1)
          hook(undelivered(block, number, outcome as Undelivered["outcome"]));
      }
      block.free(to - from, hook !== undefined);
    }
    if (this.#pending === 0) enroll("busy", this, false);
  }

  /** Runs a task after some time, if one is given. */
  #after(
    milliseconds: number | undefined,
    task: () => void,
    clock: Clock = this.#settings.clock,
  ): ScheduledTask | undefined {
    return milliseconds === undefined ? undefined : clock.schedule(clock.now() + milliseconds, task);
  }
}

const QUEUE_FULL = dropped(
  "queue-full",
  "The queue was full. Raise maxQueueSize and maxQueueBytes, or record less.",
);
const CLOSED = dropped("closed", "The client was closed before this call. Close it after the last one.");
const DISABLED = dropped("disabled", "The client was created with disable: true.");
