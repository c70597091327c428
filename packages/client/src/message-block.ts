import type { Outcome } from "./outcome.ts";
import type { Packing } from "./packing.ts";

/** What 16 bits can count, so that a message's end takes two bytes. The largest call fits. */
const BLOCK_BYTES = 65_535;
const BLOCK_MESSAGES = 1_024;

/** Bytes of memory that a message takes in addition to its JSON: its share of what a block has besides. */
export const MESSAGE_OVERHEAD = 16;

/** Where a block is written until it is full. */
interface Draft {
  readonly bytes: Uint8Array;
  /** Where the first message begins, which is 0, and where each ends. */
  readonly ends: Uint16Array;
}

/** The draft of a block that is no longer written, for the next one. */
let spare: Draft | undefined;

const NOTHING = new Uint8Array(0);
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
  readonly first: number;
  /** The number after its last message. */
  end: number;
  /** Where it is written, until it is full or over. */
  #draft: Draft | undefined;
  #bytes: Uint8Array;
  /** Where messages end in a request body, as in a draft, and where in `#bytes`. */
  #ends: Uint16Array;
  #places: Uint16Array;
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

  constructor(first: number) {
    this.first = this.end = this.#accepted = first;
    this.#draft = spare ?? {
      bytes: new Uint8Array(BLOCK_BYTES),
      ends: new Uint16Array(BLOCK_MESSAGES + 1),
    };
    spare = undefined;
    this.#bytes = this.#draft.bytes;
    this.#ends = this.#places = this.#draft.ends;
  }

  /** Adds a message, unless the block is full or over. */
  append(json: string): boolean {
    const index = this.end - this.first;
    if (this.#draft === undefined || index === BLOCK_MESSAGES) return false;
    const start = this.#ends[index] as number;
    const { read, written } = encoder.encodeInto(json, this.#bytes.subarray(start));
    const end = start + written;
    if (read < json.length || end === BLOCK_BYTES) return false;
    this.#bytes[end] = 0x2c;
    this.#ends[index + 1] = end + 1;
    this.end += 1;
    return true;
  }

  /** Removes the message that was added last. */
  removeLast(): void {
    this.end -= 1;
  }

  /** Packs what was written, which ends the writing. */
  pack({ pack, unpack }: Packing): void {
    if (this.#draft === undefined) return;
    const places = this.#ends.slice(0, this.end - this.first + 1);
    const packed = pack(this.#bytes.subarray(0, places.at(-1)), places.subarray(1));
    this.#finish(packed, places);
    this.#unpack = unpack;
  }

  /** Bytes of the messages from one to before another in a request body, with a comma after each. */
  bytesOf(from: number, to: number): number {
    return this.#between(this.#ends, from, to);
  }

  /** Bytes of memory that they take. */
  memoryOf(from: number, to: number): number {
    return this.#between(this.#places, from, to) + (to - from) * MESSAGE_OVERHEAD;
  }

  /** Writes them into a request body, and returns where they end in it. */
  write(from: number, to: number, target: Uint8Array, at: number): number {
    const start = this.#places[from - this.first] as number;
    const end = this.#places[to - this.first] as number;
    if (this.#unpack) return this.#unpack(this.#bytes, start, end, target, at);
    target.set(this.#bytes.subarray(start, end), at);
    return at + end - start;
  }

  /** The JSON of a message, unless the bytes are freed. */
  read(number: number): string {
    const json = new Uint8Array(this.bytesOf(number, number + 1));
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
    for (let number = from; number < to; number += 1) this.#outcomes[number - this.first] = outcome;
    this.#tell(from, to);
  }

  /** Frees so many messages, unless they are kept to be read. The bytes are freed with the last message. */
  free(count: number, isKept: boolean): void {
    this.#freed += count;
    this.#isKept ||= isKept;
    if (this.#freed < this.end - this.first) return;
    if (!this.#isKept) this.#finish(NOTHING);
    else if (this.#draft) this.#finish(this.#bytes.slice(0, this.bytesOf(this.first, this.end)));
  }

  /** How a message ended, or `undefined` while it has not. */
  outcomeOf(number: number): Outcome | undefined {
    return this.#outcomes[number - this.first];
  }

  /** Whether the queue has accepted a message. */
  hasAccepted(number: number): boolean {
    return number < this.#accepted;
  }

  /** Calls back once, when a message is accepted or has ended. */
  once(number: number, listener: () => void): void {
    this.#listeners ??= new Map();
    this.#listeners.set(number, [...(this.#listeners.get(number) ?? []), listener]);
  }

  /** Ends the writing: the next block gets the draft. */
  #finish(bytes: Uint8Array, places?: Uint16Array): void {
    spare = this.#draft ?? spare;
    this.#draft = undefined;
    this.#bytes = bytes;
    this.#ends = this.#ends.slice(0, this.end - this.first + 1);
    this.#places = places ?? this.#ends;
  }

  #tell(from: number, to: number): void {
    for (let number = from; this.#listeners && number < to; number += 1) {
      const listeners = this.#listeners.get(number) ?? [];
      this.#listeners.delete(number);
      for (const listener of listeners) listener();
    }
  }

  #between(ends: Uint16Array, from: number, to: number): number {
    return (ends[to - this.first] as number) - (ends[from - this.first] as number);
  }
}
