import { MAX_BATCH_BYTES, MAX_BATCH_MESSAGES } from "@countersign/protocol";
import { MessageBlock } from "./message-block.ts";
import { Messages, type Span } from "./messages.ts";
import { withPacking, type Packing } from "./packing.ts";
import { PendingReceipt, type Receipt } from "./receipt.ts";

/** What to do with a call when the queue is full. */
export type WhenFull = "drop-newest" | "drop-oldest" | "wait";

/** The bounds of a {@link MessageQueue}, and when it flushes. */
export interface MessageQueueOptions {
  readonly flushAt: number;
  readonly maxQueueSize: number;
  readonly maxQueueBytes: number;
  readonly whenFull: WhenFull;
}

/** So many full blocks of messages that are due are not packed, two requests: most are sent before it would have paid. */
const UNPACKED_BLOCKS = 16;

const NONE = new Messages([]);

/**
 * The messages that have not ended. The bounds hold for all of them, also for those that were taken to be sent, until
 * {@link MessageQueue.release} says that they ended: memory is bounded by what is held, not by what is queued.
 *
 * Messages are numbered in the order of their calls. Those before `#taken` are on their way or have ended, those before
 * `#admitted` are in the queue, and the rest found no room and stands in line (`wait`), with bounds of its own.
 */
export class MessageQueue {
  readonly #options: MessageQueueOptions;
  readonly #onFlush: (isFull: boolean) => void;
  /** What holds the messages that are not taken. New ones go into the last. */
  #blocks: MessageBlock[] = [];
  #taken = 0;
  #admitted = 0;
  #next = 0;
  /** The messages before this one are due. */
  #due = 0;
  #held = 0;
  /** Bytes of memory of what is held, of that what is not taken, and of the line. */
  #heldMemory = 0;
  #queuedMemory = 0;
  #lineMemory = 0;
  /** Bytes of what is not taken, in a request body. */
  #queuedBytes = 0;

  /** @param onFlush - Called when everything has become due, by a call of `flush` or by reaching a bound; `isFull` if a call found no room. */
  constructor(options: MessageQueueOptions, onFlush: (isFull: boolean) => void) {
    this.#options = options;
    this.#onFlush = onFlush;
  }

  /** The number that the next message will have. */
  get next(): number {
    return this.#next;
  }

  /** The number of the message that is taken next. */
  get first(): number {
    return this.#taken;
  }

  /** Messages queued since the last flush. */
  get undue(): number {
    return Math.max(0, this.#admitted - this.#due);
  }

  /** How many messages can be taken. */
  get ready(): number {
    return Math.min(this.#due, this.#admitted) - this.#taken;
  }

  /** Whether what is queued fills a request. */
  get fillsRequest(): boolean {
    return this.#queuedBytes >= MAX_BATCH_BYTES || this.ready >= MAX_BATCH_MESSAGES;
  }

  /**
   * Takes a message in.
   *
   * @returns What the policy had to drop for it: none, the oldest ones, or `undefined` for the message itself.
   */
  offer(json: string): Messages | undefined {
    this.#store(json);
    this.#admitLine();
    if (this.#admitted === this.#next) return NONE;
    const replaced = this.#makeRoom();
    if (replaced === undefined) this.#removeLast();
    // Nothing is gained by letting the interval pass while calls find no room.
    this.flush(true);
    return replaced;
  }

  /** The receipt of the message that was taken in last. */
  receiptOfLast(messageId: string): Receipt {
    return new PendingReceipt(messageId, this.#blocks.at(-1) as MessageBlock, this.#next - 1);
  }

  /** Makes everything taken in so far due. */
  flush(isFull = false): void {
    this.#due = this.#next;
    this.#onFlush(isFull);
  }

  /** Takes due messages from the front, as many as fit. */
  take(maxMessages: number, maxBytes: number): Messages {
    // Every message brings a comma, except the first.
    return this.#take(this.#taken + Math.min(maxMessages, this.ready), maxBytes + 1);
  }

  /** Removes everything, due or not, waiting in line or not, to be dropped: it no longer counts towards the bounds. */
  takeAll(): Messages {
    this.flush();
    const queued = this.#take(this.#admitted);
    this.#forget(queued);
    const waiting = this.#take(this.#next);
    // The next message must not look as if the line before it had been admitted.
    this.#blocks = [];
    this.#admitted = this.#next;
    this.#lineMemory = 0;
    this.#queuedMemory = 0;
    this.#queuedBytes = 0;
    return new Messages([...queued.spans, ...waiting.spans]);
  }

  /** Makes the room of messages that ended available, first to those who wait for it. */
  release(messages: Messages): void {
    this.#forget(messages);
    this.#admitLine();
  }

  #forget(messages: Messages): void {
    this.#held -= messages.length;
    this.#heldMemory -= messages.memory;
  }

  #fits(memory: number): boolean {
    const { maxQueueSize, maxQueueBytes } = this.#options;
    return this.#held < maxQueueSize && this.#heldMemory + memory <= maxQueueBytes;
  }

  /** Puts a message at the end of the line. */
  #store(json: string): void {
    let block = this.#blocks.at(-1);
    if (!block?.append(json)) {
      // First, so that the next block can be written where this one was.
      if (block) this.#packWaiting(block);
      block = new MessageBlock(this.#next);
      block.append(json);
      this.#blocks.push(block);
    }
    this.#lineMemory += block.memoryOf(this.#next, this.#next + 1);
    this.#next += 1;
  }

  /** Takes back what {@link MessageQueue.#store} did. */
  #removeLast(): void {
    const block = this.#blocks.at(-1) as MessageBlock;
    this.#next -= 1;
    this.#lineMemory -= block.memoryOf(this.#next, this.#next + 1);
    block.removeLast();
  }

  /** Lets the line into the queue, as far as there is room. */
  #admitLine(): void {
    while (this.#admitted < this.#next) {
      const number = this.#admitted;
      // The last block that begins before it, which almost always is the last of all.
      const block = this.#blocks.findLast(({ first }) => first <= number) as MessageBlock;
      const memory = block.memoryOf(number, number + 1);
      if (!this.#fits(memory)) return;
      this.#lineMemory -= memory;
      this.#held += 1;
      this.#heldMemory += memory;
      this.#queuedMemory += memory;
      this.#queuedBytes += block.bytesOf(number, number + 1);
      this.#admitted += 1;
      block.accept(this.#admitted);
      // As many bytes as a request may have are worth a request, however few messages they are.
      if (this.undue >= this.#options.flushAt || this.fillsRequest) this.flush();
    }
  }

  /** Does what the policy says when the last message finds no room; returns what `offer` does. */
  #makeRoom(): Messages | undefined {
    const { whenFull, maxQueueSize, maxQueueBytes } = this.#options;
    if (whenFull === "drop-newest") return undefined;
    if (whenFull === "wait") {
      const line = this.#next - this.#admitted;
      return line <= maxQueueSize && this.#lineMemory <= maxQueueBytes ? NONE : undefined;
    }
    // What is on its way cannot be taken back: if all the room is theirs, the newest has to go.
    const onTheirWay = this.#held - (this.#admitted - this.#taken);
    const memoryOnTheirWay = this.#heldMemory - this.#queuedMemory;
    if (onTheirWay >= maxQueueSize || memoryOnTheirWay + this.#lineMemory > maxQueueBytes) return undefined;
    const spans: Span[] = [];
    while (this.#admitted < this.#next) {
      const oldest = this.#take(this.#taken + 1);
      this.#forget(oldest);
      spans.push(...oldest.spans);
      this.#admitLine();
    }
    return new Messages(spans);
  }

  /** Packs the messages that wait longest, or a full block if its messages wait for the interval. */
  #packWaiting(full: MessageBlock): void {
    const waiting = this.#due <= full.first ? full : this.#blocks.at(-UNPACKED_BLOCKS);
    if (waiting) withPacking((packing) => this.#pack(waiting, packing));
  }

  /** Packs a full block: what that saves is room again. */
  #pack(block: MessageBlock, packing: Packing): void {
    const count = (sign: 1 | -1): void => {
      for (let number = block.first; number < block.end; number += 1) {
        const memory = sign * block.memoryOf(number, number + 1);
        if (number >= this.#admitted) this.#lineMemory += memory;
        else if (block.outcomeOf(number) === undefined) this.#heldMemory += memory;
        if (number >= this.#taken && number < this.#admitted) this.#queuedMemory += memory;
      }
    };
    count(-1);
    block.pack(packing);
    count(1);
  }

  /** Removes messages from the front: those before a number, as many as fit. */
  #take(end: number, maxBytes = Number.POSITIVE_INFINITY): Messages {
    const spans: Span[] = [];
    let room = maxBytes;
    while (this.#taken < end) {
      const block = this.#blocks[0] as MessageBlock;
      const from = this.#taken;
      const last = Math.min(end, block.end);
      while (this.#taken < last && block.bytesOf(from, this.#taken + 1) <= room) this.#taken += 1;
      const to = this.#taken;
      if (from < to) spans.push({ block, from, to });
      if (to < last) break;
      room -= block.bytesOf(from, to);
      // The last one is still written.
      if (to === block.end && this.#blocks.length > 1) this.#blocks.shift();
    }
    const taken = new Messages(spans);
    this.#queuedMemory -= taken.memory;
    this.#queuedBytes -= taken.bytes;
    return taken;
  }
}
