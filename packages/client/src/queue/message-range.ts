import type { MessageBlock } from "./message-block.ts";

/** Messages of one block: those from one number to before another. */
export interface Span {
  readonly block: MessageBlock;
  readonly from: number;
  readonly to: number;
}

/** Messages with consecutive numbers, in the blocks that hold them. */
export class MessageRange {
  readonly #blocks: readonly MessageBlock[];
  /** The number of the first of them. */
  readonly from: number;
  /** The number after the last of them. */
  readonly to: number;

  constructor(blocks: readonly MessageBlock[], from: number, to: number) {
    this.#blocks = blocks;
    this.from = from;
    this.to = to;
  }

  get length(): number {
    return this.to - this.from;
  }

  /** Which of them are in which block. */
  get spans(): readonly Span[] {
    return this.#blocks
      .map((block) => ({
        block,
        from: Math.max(this.from, block.from),
        to: Math.min(this.to, block.to),
      }))
      .filter(({ from, to }) => from < to);
  }

  /** Bytes of all of them in a request body, with a comma after each. */
  get bytes(): number {
    return this.#sum(({ block, from, to }) => block.bytes(from, to));
  }

  /** Bytes of memory that they take. */
  get memory(): number {
    return this.#sum(({ block, from, to }) => block.memory(from, to));
  }

  /** Writes them into a request body, with a comma after each, and returns where they end in it. */
  write(target: Uint8Array, start: number): number {
    return this.spans.reduce((at, { block, from, to }) => block.write(from, to, target, at), start);
  }

  /** The first half and the second half. */
  halves(): [MessageRange, MessageRange] {
    const middle = Math.ceil((this.from + this.to) / 2);
    return [
      new MessageRange(this.#blocks, this.from, middle),
      new MessageRange(this.#blocks, middle, this.to),
    ];
  }

  #sum(measure: (span: Span) => number): number {
    return this.spans.reduce((sum, span) => sum + measure(span), 0);
  }
}
