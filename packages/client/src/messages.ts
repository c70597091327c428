import type { MessageBlock } from "./message-block.ts";

/** Messages of one block: those from one number to before another. */
export interface Span {
  readonly block: MessageBlock;
  readonly from: number;
  readonly to: number;
}

/** Messages in the order of their calls, in the blocks that hold them. */
export class Messages {
  readonly spans: readonly Span[];
  readonly length: number;

  constructor(spans: readonly Span[]) {
    this.spans = spans;
    this.length = this.#sum(({ from, to }) => to - from);
  }

  /** Bytes of all of them in a request body, with a comma after each. */
  get bytes(): number {
    return this.#sum(({ block, from, to }) => block.bytesOf(from, to));
  }

  /** Bytes of memory that they take. */
  get memory(): number {
    return this.#sum(({ block, from, to }) => block.memoryOf(from, to));
  }

  /** Writes them into a request body, with a comma after each, and returns where they end in it. */
  write(target: Uint8Array, start: number): number {
    return this.spans.reduce((at, { block, from, to }) => block.write(from, to, target, at), start);
  }

  /** The first half and the second half. */
  halves(): [Messages, Messages] {
    const halves: [Span[], Span[]] = [[], []];
    let left = Math.ceil(this.length / 2);
    for (const { block, from, to } of this.spans) {
      const middle = Math.min(to, from + left);
      if (from < middle) halves[0].push({ block, from, to: middle });
      if (middle < to) halves[1].push({ block, from: middle, to });
      left -= middle - from;
    }
    return [new Messages(halves[0]), new Messages(halves[1])];
  }

  #sum(measure: (span: Span) => number): number {
    return this.spans.reduce((sum, span) => sum + measure(span), 0);
  }
}
