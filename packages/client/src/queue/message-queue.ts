import { MAX_BATCH_BYTES, MAX_BATCH_MESSAGES } from "@countersign/protocol";
import { MessageBlock } from "./message-block.ts";
import { MessageRange } from "./message-range.ts";
import { withPacking, type Packing } from "./packing.ts";
import { PendingReceipt, type Receipt } from "../receipt.ts";

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

/** What a policy drops that drops none. */
export const NO_MESSAGES: MessageRange = new MessageRange([], 0, 0);

/**
 * The messages that have not ended. The bounds hold for all of them, also for those that were taken to be sent, until
 * {@link MessageQueue.free} says that they ended: memory is bounded by what is held, not by what is queued.
 *
 * Messages are numbered in the order of their calls. Those before `#taken` are on their way or have ended, those before
 * `#admitted` are in the queue, and the rest found no room and stands in line (`wait`), with bounds of its own.
 */
export class MessageQueue {
  readonly #options: MessageQueueOptions;
  readonly #onFlush: (isUrgent: boolean) => void;
  /** What holds the messages that are not taken. New ones go into the last. */
  #blocks: MessageBlock[] = [];
  #taken = 0;
  #admitted = 0;
  #next = 0;
  /** The messages before this one are due. */
  #due = 0;
  /** How many messages are on their way. */
  #sent = 0;
  /** Bytes of memory of what is on its way, in the queue and in line. */
  #sentMemory = 0;
  #queuedMemory = 0;
  #lineMemory = 0;
  /** Bytes of what is in the queue, in a request body. */
  #queuedBytes = 0;
  /** Whether no message is dropped for a new one, whatever the policy. */
  keepsAll = false;

  /** @param onFlush - Called when everything has become due, because of a call of `flush` or because a bound is reached. */
  constructor(options: MessageQueueOptions, onFlush: (isUrgent: boolean) => void) {
    this.#options = options;
    this.#onFlush = onFlush;
  }

  /** The number of the message that is taken next. */
  get taken(): number {
    return this.#taken;
  }

  /** The number that the next message will have. */
  get next(): number {
    return this.#next;
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
  offer(json: string): MessageRange | undefined {
    this.#store(json);
    this.#admitLine();
    if (this.#admitted === this.#next) return NO_MESSAGES;
    const replaced = this.#makeRoom();
    if (replaced === undefined) this.#removeLast();
    // Nothing is gained by letting the interval pass while calls find no room.
    this.flush(true);
    return replaced;
  }

  /** The receipt of the message that was taken in last. */
  receipt(messageId: string): Receipt {
    return new PendingReceipt(messageId, this.#blocks.at(-1) as MessageBlock, this.#next - 1);
  }

  /** Makes everything taken in so far due, to be sent at once if it is urgent. */
  flush(isUrgent = false): void {
    this.#due = this.#next;
    this.#onFlush(isUrgent);
  }

  /** Takes due messages from the front to be sent, as many as fit. */
  take(maxMessages: number, maxBytes: number): MessageRange {
    const taken = this.#take(this.#taken + Math.min(maxMessages, this.ready), maxBytes);
    this.#sent += taken.length;
    this.#sentMemory += taken.memory;
    return taken;
  }

  /** Removes everything, due or not, waiting in line or not, to be dropped: it no longer counts towards the bounds. */
  takeAll(): MessageRange {
    this.flush();
    const all = this.#take(this.#next);
    // The next message must not look as if the line before it had been admitted.
    this.#blocks = [];
    this.#admitted = this.#next;
    this.#lineMemory = 0;
    this.#queuedMemory = 0;
    this.#queuedBytes = 0;
    return all;
  }

  /** Makes the room of messages that were sent available, first to those who wait for it. */
  free(messages: MessageRange): void {
    this.#sent -= messages.length;
    this.#sentMemory -= messages.memory;
    this.#admitLine();
  }

  /** Puts a message at the end of the line. */
  #store(json: string): void {
    let block = this.#blocks.at(-1);
    if (!block?.append(json)) {
      if (block) this.#packWaiting(block);
      block = new MessageBlock(this.#next);
      block.append(json);
      this.#blocks.push(block);
    }
    this.#lineMemory += block.memory(this.#next);
    this.#next += 1;
  }

  /** Takes back what {@link MessageQueue.#store} did. */
  #removeLast(): void {
    const block = this.#blocks.at(-1) as MessageBlock;
    this.#next -= 1;
    this.#lineMemory -= block.memory(this.#next);
    block.removeLast();
  }

  /** Lets the line into the queue, as far as there is room. */
  #admitLine(): void {
    const { flushAt, maxQueueSize, maxQueueBytes } = this.#options;
    while (this.#admitted < this.#next) {
      const number = this.#admitted;
      // The last block that begins before it, which almost always is the last of all.
      const block = this.#blocks.findLast(({ from }) => from <= number) as MessageBlock;
      const memory = block.memory(number);
      if (
        this.#sent + number - this.#taken >= maxQueueSize ||
        this.#sentMemory + this.#queuedMemory + memory > maxQueueBytes
      )
        return;
      this.#lineMemory -= memory;
      this.#queuedMemory += memory;
      this.#queuedBytes += block.bytes(number);
      this.#admitted += 1;
      block.accept(this.#admitted);
      // As many bytes as a request may have are worth a request, however few messages they are.
      if (this.undue >= flushAt || this.fillsRequest) this.flush();
    }
  }

  /** Does what the policy says when the last message finds no room; returns what `offer` does. */
  #makeRoom(): MessageRange | undefined {
    const { whenFull, maxQueueSize, maxQueueBytes } = this.#options;
    if (whenFull === "drop-newest") return undefined;
    if (whenFull === "wait") {
      const line = this.#next - this.#admitted;
      return line <= maxQueueSize && this.#lineMemory <= maxQueueBytes ? NO_MESSAGES : undefined;
    }
    // What is on its way cannot be taken back: if all the room is theirs, the newest has to go.
    if (this.keepsAll || this.#sent >= maxQueueSize || this.#sentMemory + this.#lineMemory > maxQueueBytes)
      return undefined;
    const blocks = new Set<MessageBlock>();
    const oldest = this.#taken;
    while (this.#admitted < this.#next) {
      for (const { block } of this.#take(this.#taken + 1).spans) blocks.add(block);
      this.#admitLine();
    }
    return new MessageRange([...blocks], oldest, this.#taken);
  }

  /** Packs the messages that wait longest, or a full block if its messages wait for the interval. */
  #packWaiting(full: MessageBlock): void {
    const waiting = this.#due <= full.from ? full : this.#blocks.at(-UNPACKED_BLOCKS);
    if (waiting) withPacking((packing) => this.#pack(waiting, packing));
  }

  /** Packs a full block that is not on its way: what that saves is room again. */
  #pack(block: MessageBlock, packing: Packing): void {
    if (block.from < this.#taken) return;
    const admitted = Math.min(Math.max(this.#admitted, block.from), block.to);
    const count = (sign: 1 | -1): void => {
      this.#queuedMemory += sign * block.memory(block.from, admitted);
      this.#lineMemory += sign * block.memory(admitted, block.to);
    };
    count(-1);
    block.pack(packing);
    count(1);
  }

  /** Removes messages from the front: those before a number, as many as fit. */
  #take(end: number, maxBytes = Infinity): MessageRange {
    const blocks: MessageBlock[] = [];
    const from = this.#taken;
    let bytes = 0;
    while (this.#taken < end) {
      const block = this.#blocks[0] as MessageBlock;
      if (this.#taken === block.to) {
        this.#blocks.shift();
        continue;
      }
      bytes += block.bytes(this.#taken);
      if (bytes > maxBytes) break;
      if (blocks.at(-1) !== block) blocks.push(block);
      this.#taken += 1;
    }
    const taken = new MessageRange(blocks, from, this.#taken);
    this.#queuedMemory -= taken.memory;
    this.#queuedBytes -= taken.bytes;
    return taken;
  }
}
