import type { Outcome } from "../outcome.ts";
import type { Packing } from "./packing.ts";

/** What 16 bits can count, so that a message's end takes two bytes. The largest call fits. */
const BLOCK_BYTES = 65_535;
const BLOCK_MESSAGES = 1_024;

/** Bytes of memory that a message takes in addition to its JSON: its share of what a block has besides. */
export const MESSAGE_OVERHEAD = 16;

const encoder = new TextEncoder();
const decoder = new TextDecoder();

/**
 * Messages, some hundred, as the bytes of their JSON with a comma after each, as they stand in a request body: a message
 * costs no object. A block that is full can be packed.
 *
 * Its bytes are freed when all its messages have ended. What receipts may still ask, how each ended, stays.
 */
export class MessageBlock {
  /** The number of its first message; the others follow. */
  readonly from: number;
  /** The number after its last message. */
  to: number;
  #bytes: Uint8Array = new Uint8Array(BLOCK_BYTES);
  /** Where messages end in a request body, after the 0 at which the first one begins, and where they end in `#bytes`. */
  #ends = new Uint16Array(BLOCK_MESSAGES + 1);
  #places = this.#ends;
  /** What unpacks the bytes, if they are packed. */
  #unpack: Packing["unpack"] | undefined;
  /** How many messages have been freed. */
  #freed = 0;
  #isKept = false;
  /** The queue has accepted the messages before this one. */
  #accepted: number;
  readonly #outcomes: Outcome[] = [];
  /** What to call when a message is accepted or has ended. */
  #listeners: Map<number, (() => void)[]> | undefined;

  constructor(from: number) {
    this.from = this.to = this.#accepted = from;
  }

  /** Adds a message, unless the block is full, packed or freed. */
  append(json: string): boolean {
    const next = this.to - this.from + 1;
    if (next === this.#ends.length) return false;
    const start = this.#ends[next - 1] as number;
    const { read, written } = encoder.encodeInto(json, this.#bytes.subarray(start));
    const end = start + written;
    if (read < json.length || end >= this.#bytes.length) return false;
    this.#bytes[end] = 0x2c;
    this.#ends[next] = end + 1;
    this.to += 1;
    return true;
  }

  /** Removes the message that was added last. */
  removeLast(): void {
    this.to -= 1;
  }

  /** Packs what was written, once, which ends the writing. */
  pack({ pack, unpack }: Packing): void {
    if (this.#unpack) return;
    this.#unpack = unpack;
    this.#places = this.#ends.slice(0, this.to - this.from + 1);
    this.#finish(pack(this.#bytes.subarray(0, this.#places.at(-1)), this.#places.subarray(1)));
  }

  /** Bytes of a message, or of those from one to before another, in a request body, with a comma after each. */
  bytes(from: number, to: number = from + 1): number {
    return this.#between(this.#ends, from, to);
  }

  /** Bytes of memory that they take. */
  memory(from: number, to: number = from + 1): number {
    return this.#between(this.#places, from, to) + (to - from) * MESSAGE_OVERHEAD;
  }

  /** Writes them into a request body, and returns where they end in it. */
  write(from: number, to: number, target: Uint8Array, at: number): number {
    const start = this.#places[from - this.from] as number;
    const end = this.#places[to - this.from] as number;
    if (this.#unpack) return this.#unpack(this.#bytes, start, end, target, at);
    target.set(this.#bytes.subarray(start, end), at);
    return at + end - start;
  }

  /** The JSON of a message, unless the bytes are freed. */
  read(number: number): string {
    const json = new Uint8Array(this.bytes(number));
    this.write(number, number + 1, json, 0);
    return decoder.decode(json.subarray(0, -1));
  }

  /** Notes that the queue has accepted the messages before this one. */
  accept(to: number): void {
    const from = this.#accepted;
    this.#accepted = to;
    this.#tell(from, to);
  }

  /** Notes how messages ended. */
  settle(from: number, to: number, outcome: Outcome): void {
    for (let number = from; number < to; number += 1) this.#outcomes[number - this.from] = outcome;
    this.#tell(from, to);
  }

  /** Frees so many messages, unless they are kept to be read. The bytes are freed with the last message. */
  free(count: number, isKept: boolean): void {
    this.#freed += count;
    this.#isKept ||= isKept;
    const all = this.to - this.from;
    if (this.#freed === all) this.#finish(this.#bytes.slice(0, this.#isKept ? this.#places[all] : 0));
  }

  /** How a message ended, or `undefined` while it has not. */
  outcome(number: number): Outcome | undefined {
    return this.#outcomes[number - this.from];
  }

  /** Whether the queue has accepted a message. */
  accepted(number: number): boolean {
    return number < this.#accepted;
  }

  /** Calls back once, when a message is accepted or has ended. */
  once(number: number, listener: () => void): void {
    this.#listeners ??= new Map();
    this.#listeners.set(number, [...(this.#listeners.get(number) ?? []), listener]);
  }

  /** Ends the writing: no more memory is held than this needs. */
  #finish(bytes: Uint8Array): void {
    this.#bytes = bytes;
    this.#ends = this.#ends.slice(0, this.to - this.from + 1);
    if (!this.#unpack) this.#places = this.#ends;
  }

  #tell(from: number, to: number): void {
    for (let number = from; this.#listeners && number < to; number += 1) {
      const listeners = this.#listeners.get(number) ?? [];
      this.#listeners.delete(number);
      for (const listener of listeners) listener();
    }
  }

  #between(ends: Uint16Array, from: number, to: number): number {
    return (ends[to - this.from] as number) - (ends[from - this.from] as number);
  }
}
