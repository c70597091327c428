import { MAX_BATCH_BYTES } from "@countersign/protocol";
import { Fifo } from "./fifo.ts";
import type { PendingReceipt } from "./receipt.ts";
import type { SerializedCall } from "./serialize.ts";

/** What to do with a call when the queue is full. */
export type WhenFull = "drop-newest" | "drop-oldest" | "wait";

/** A serialised call with its receipt. Its number rises with every call, so it says what came before what. */
export interface QueuedMessage extends SerializedCall {
  readonly receipt: PendingReceipt;
  readonly sequence: number;
  /** Bytes of memory it takes: see {@link memoryOf}. */
  readonly memory: number;
}

/**
 * Bytes of memory that a message takes while it is held: its JSON in the engine's form, which for anything but ASCII may
 * be two bytes a character, and the objects around it.
 */
export function memoryOf({ json, bytes }: SerializedCall): number {
  return (bytes === json.length ? bytes : 2 * json.length) + 256;
}

/** The bounds of a {@link MessageQueue}, and when it flushes. */
export interface MessageQueueOptions {
  readonly flushAt: number;
  readonly maxQueueSize: number;
  readonly maxQueueBytes: number;
  readonly whenFull: WhenFull;
}

/**
 * The messages that have not ended. The bounds hold for all of them, also for those that were taken to be sent, until
 * {@link MessageQueue.release} says that they ended: memory is bounded by what is held, not by what is queued.
 */
export class MessageQueue {
  readonly #options: MessageQueueOptions;
  readonly #onFlush: () => void;
  readonly #queue = new Fifo<QueuedMessage>();
  /** Under `wait`: calls that found no room, in a line with bounds of its own. */
  readonly #line = new Fifo<QueuedMessage>();
  #held = 0;
  #heldMemory = 0;
  /** Every message up to this number is due. */
  #due = -1;
  #last = -1;
  #undue = 0;

  /** @param onFlush - Called when everything has become due, by a call of `flush` or by reaching a bound. */
  constructor(options: MessageQueueOptions, onFlush: () => void) {
    this.#options = options;
    this.#onFlush = onFlush;
  }

  /** Messages queued since the last flush. */
  get undue(): number {
    return this.#undue;
  }

  /** Whether there is something to take. */
  get hasDue(): boolean {
    const next = this.#queue.peek();
    return next !== undefined && next.sequence <= this.#due;
  }

  /**
   * Takes a message in, in the order of their numbers.
   *
   * @returns What the policy had to give up for it: nothing, the oldest ones, or the message itself.
   */
  offer(message: QueuedMessage): readonly QueuedMessage[] {
    if (this.#line.length === 0 && this.#fits(message)) {
      this.#admit(message);
      return [];
    }
    // Nothing is gained by letting the interval pass while calls find no room.
    this.flush();
    const { whenFull, maxQueueSize, maxQueueBytes } = this.#options;
    if (whenFull === "drop-oldest") return this.#replaceOldest(message);
    const waits = whenFull === "wait" && this.#line.length < maxQueueSize;
    if (!waits || this.#line.memory + message.memory > maxQueueBytes) return [message];
    this.#last = message.sequence;
    this.#line.push(message);
    return [];
  }

  /** Makes everything taken in so far due. */
  flush(): void {
    this.#due = this.#last;
    this.#undue = 0;
    this.#onFlush();
  }

  /** Takes due messages from the front, as many as fit. */
  take(maxMessages: number, maxBytes: number): QueuedMessage[] {
    const taken: QueuedMessage[] = [];
    // Every message brings a comma, except the first.
    let bytes = -1;
    for (let next = this.#queue.peek(); next && taken.length < maxMessages; next = this.#queue.peek()) {
      bytes += next.bytes + 1;
      if (next.sequence > this.#due || bytes > maxBytes) break;
      this.#queue.shift();
      taken.push(next);
    }
    return taken;
  }

  /** Removes everything, due or not, waiting in line or not, to be dropped: it no longer counts towards the bounds. */
  takeAll(): QueuedMessage[] {
    this.flush();
    const taken: QueuedMessage[] = [];
    for (let next = this.#queue.shift(); next; next = this.#queue.shift()) {
      this.#hold(next, -1);
      taken.push(next);
    }
    for (let next = this.#line.shift(); next; next = this.#line.shift()) taken.push(next);
    return taken;
  }

  /** Makes the room of messages that ended available, first to those who wait for it. */
  release(messages: readonly QueuedMessage[]): void {
    for (const message of messages) this.#hold(message, -1);
    for (let next = this.#line.peek(); next && this.#fits(next); next = this.#line.peek()) {
      this.#line.shift();
      this.#admit(next);
    }
  }

  #fits(message: QueuedMessage): boolean {
    const { maxQueueSize, maxQueueBytes } = this.#options;
    return this.#held < maxQueueSize && this.#heldMemory + message.memory <= maxQueueBytes;
  }

  #admit(message: QueuedMessage): void {
    this.#last = Math.max(this.#last, message.sequence);
    this.#hold(message, 1);
    this.#queue.push(message);
    message.receipt.accept(true);
    if (message.sequence > this.#due) this.#undue += 1;
    // As many bytes as a request may have are worth a request, however few messages they are.
    if (this.#undue >= this.#options.flushAt || this.#queue.bytes >= MAX_BATCH_BYTES) this.flush();
  }

  #replaceOldest(message: QueuedMessage): QueuedMessage[] {
    const { maxQueueSize, maxQueueBytes } = this.#options;
    // What is on its way cannot be taken back: if all the room is theirs, the newest has to go.
    const onTheirWay = this.#held - this.#queue.length;
    const memoryOnTheirWay = this.#heldMemory - this.#queue.memory;
    if (onTheirWay >= maxQueueSize || memoryOnTheirWay + message.memory > maxQueueBytes) return [message];
    const dropped: QueuedMessage[] = [];
    while (!this.#fits(message)) {
      const oldest = this.#queue.shift();
      if (oldest === undefined) break;
      this.#hold(oldest, -1);
      dropped.push(oldest);
    }
    this.#admit(message);
    return dropped;
  }

  #hold(message: QueuedMessage, change: 1 | -1): void {
    this.#held += change;
    this.#heldMemory += change * message.memory;
  }
}
