import type { Readable } from "node:stream";
import { tooLarge, type Refusal } from "./refusal.ts";

/** Beyond the limit, this many times the limit is still read and dropped: many clients only listen once they have written. */
const DRAIN_FACTOR = 10;

/** How many bytes all requests together may hold in memory. */
export class ByteBudget {
  #left: number;

  /** @param bytes The most that may be taken at any time. */
  constructor(bytes: number) {
    this.#left = bytes;
  }

  /** Takes `bytes` if they are left. */
  take(bytes: number): boolean {
    if (bytes > this.#left) return false;
    this.#left -= bytes;
    return true;
  }

  /** Gives `bytes` back. */
  give(bytes: number): void {
    this.#left += bytes;
  }
}

/** A whole body, or why there is none. Call `release` when its bytes are no longer needed. */
export type ReadBody =
  | { readonly ok: true; readonly bytes: Buffer; release(): void }
  | { readonly ok: false; readonly refusal: Refusal };

/** Reads a request's body into memory, at most `maxBytes` of it and within the budget. Never rejects. */
export function readBody(stream: Readable, maxBytes: number, budget: ByteBudget): Promise<ReadBody> {
  return new Promise((resolve) => {
    const chunks: Buffer[] = [];
    let seen = 0;
    let held = 0;
    let refusal: Refusal | undefined;
    const drop = (why: Refusal): void => {
      refusal ??= why;
      chunks.length = 0;
      budget.give(held);
      held = 0;
    };
    const settle = (): void => {
      stream.off("data", onData).off("end", settle).off("error", onBroken).off("close", onBroken);
      const release = (): void => budget.give(held);
      resolve(refusal ? { ok: false, refusal } : { ok: true, bytes: Buffer.concat(chunks, held), release });
    };
    const onBroken = (): void => {
      drop(ABORTED);
      settle();
    };
    const onData = (chunk: Buffer): void => {
      seen += chunk.length;
      if (seen > maxBytes) drop(tooLarge(`The limit is ${maxBytes} bytes.`));
      else if (!refusal && !budget.take(chunk.length)) drop(OVERLOADED);
      else if (!refusal) {
        chunks.push(chunk);
        held += chunk.length;
      }
      if (seen > maxBytes * DRAIN_FACTOR) settle();
    };
    stream.on("data", onData).on("end", settle).on("error", onBroken).on("close", onBroken);
  });
}

const ABORTED: Refusal = {
  status: 400,
  code: "body_aborted",
  message: "The body ended early",
  detail: "The connection closed before the whole body had arrived.",
};

const OVERLOADED: Refusal = {
  status: 503,
  code: "overloaded",
  message: "Too much at once",
  detail: "The server holds as many request bodies as it allows itself. Try again shortly.",
};
