import { performance } from "node:perf_hooks";
import type { Readable } from "node:stream";
import { refusal, type Refusal, type Refused } from "./refusal.ts";

/**
 * Beyond the limit, this many times the limit is still read and dropped: many clients read a response only after they have
 * written everything.
 */
const DRAIN_FACTOR = 10;

/** A body may hold its bytes for this long before others may have them. */
const GRACE_MS = 1_000;

/** A request that holds bytes of the budget while the rest of its body is awaited. */
interface Holder {
  readonly since: number;
  /** Drops the body: its bytes go back to the budget. */
  readonly dismiss: () => void;
}

/**
 * How many bytes all requests together may hold in memory. When they are used up, it drops the body that has been awaited for
 * longest: clients that send slowly cannot keep those out that send their bodies at once.
 */
export class ByteBudget {
  #left: number;
  readonly #now: () => number;
  /** In order of arrival. */
  readonly #waiting = new Set<Holder>();

  /**
   * @param bytes The most that may be taken at any time.
   * @param now A clock in milliseconds.
   */
  constructor(bytes: number, now: () => number = () => performance.now()) {
    this.#left = bytes;
    this.#now = now;
  }

  /** Adds a body that is awaited. Returns what ends that. */
  wait(dismiss: () => void): () => void {
    const holder = { since: this.#now(), dismiss };
    this.#waiting.add(holder);
    return () => this.#waiting.delete(holder);
  }

  /** Takes `bytes` if they are left, or can be had from slow ones. */
  take(bytes: number): boolean {
    for (const holder of this.#waiting) {
      if (bytes <= this.#left || this.#now() - holder.since < GRACE_MS) break;
      this.#waiting.delete(holder);
      holder.dismiss();
    }
    if (bytes > this.#left) return false;
    this.#left -= bytes;
    return true;
  }

  /** Gives `bytes` back. */
  give(bytes: number): void {
    this.#left += bytes;
  }
}

const EMPTY = Buffer.alloc(0);

/** A whole body, or the reason for the refusal. Call `release` when you no longer need its bytes. */
export type ReadBody = { readonly ok: true; readonly bytes: Buffer; release(): void } | Refused;

/** Reads a request's body into memory, at most `maxBytes` of it and within the budget. Never rejects. */
export function readBody(stream: Readable, maxBytes: number, budget: ByteBudget): Promise<ReadBody> {
  return new Promise((resolve) => {
    let bytes: Buffer = EMPTY;
    let seen = 0;
    let held = 0;
    let refused: Refusal | undefined;
    const drop = (why: Refusal): void => {
      refused ??= why;
      bytes = EMPTY;
      budget.give(held);
      held = 0;
    };
    const settle = (): void => {
      stopWaiting();
      stream.off("data", onData).off("end", settle).off("error", onBroken).off("close", onBroken);
      const release = (): void => budget.give(held);
      resolve(
        refused ? { ok: false, refusal: refused } : { ok: true, bytes: bytes.subarray(0, held), release },
      );
    };
    const stopWaiting = budget.wait(() => {
      drop(TOO_SLOW);
      settle();
    });
    const keep = (chunk: Buffer): void => {
      if (!budget.take(chunk.length)) return drop(OVERLOADED);
      bytes = appended(bytes, held, chunk);
      held += chunk.length;
      // This very body was the one that had been awaited for longest.
      if (refused !== undefined) drop(refused);
    };
    const onBroken = (): void => {
      drop(ABORTED);
      settle();
    };
    const onData = (chunk: Buffer): void => {
      seen += chunk.length;
      if (seen > maxBytes) drop(refusal("payload_too_large", `The limit is ${maxBytes} bytes.`));
      else if (refused === undefined) keep(chunk);
      if (seen > maxBytes * DRAIN_FACTOR) settle();
    };
    stream.on("data", onData).on("end", settle).on("error", onBroken).on("close", onBroken);
  });
}

/**
 * The bytes with a chunk after the first `length` of them, in one buffer that doubles when it is full: a list of one-byte chunks
 * would take some hundred times its bytes.
 */
function appended(bytes: Buffer, length: number, chunk: Buffer): Buffer {
  // Most bodies come in one chunk, which is used as it is.
  if (length === 0) return chunk;
  const needed = length + chunk.length;
  let room = bytes;
  if (needed > bytes.length) {
    room = Buffer.allocUnsafeSlow(Math.max(needed, bytes.length * 2));
    bytes.copy(room, 0, 0, length);
  }
  chunk.copy(room, length);
  return room;
}

const TOO_SLOW = refusal(
  "overloaded",
  "The server reached its limit of unfinished request bodies, and this one was the oldest. Send it again.",
  "The body took too long",
);

const ABORTED = refusal("body_aborted", "The connection closed before the whole body had arrived.");

const OVERLOADED = refusal(
  "overloaded",
  "The server reached its limit of request bodies in memory. Try again shortly.",
);
