import type { Outcome } from "./outcome.ts";
import type { Packing } from "./packing.ts";

/** What 16 bits can count, so that a message's end takes two bytes. The largest call fits. */
const BLOCK_BYTES = 65_535;
const BLOCK_MESSAGES = 1_024;

/** Bytes of memory that a message takes in addition to its JSON: its share of what a block has besides. */
export const MESSAGE_OVERHEAD = 16;

/** Who awaits a message. */
interface Awaiting {
  accept(accepted: boolean): void;
  settle(outcome: Outcome): void;
}

/** Where a block is written until it is full. */
interface Draft {
  readonly bytes: Uint8Array;
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
  #draft: Draft | undefined = spare ?? {
    bytes: new Uint8Array(BLOCK_BYTES),
    ends: new Uint16Array(BLOCK_MESSAGES),
  };
  #bytes: Uint8Array = this.#draft?.bytes ?? NOTHING;
  /** Where each message ends in a request body. */
  #ends: Uint16Array = this.#draft?.ends ?? new Uint16Array(0);
  /** Where each message ends in the packed bytes, and what unpacks them. */
  #packedEnds: Uint16Array | undefined;
  #unpack: Packing["unpack"] | undefined;
  #length = 0;
  #ended = 0;
  #accepted = 0;
  readonly #outcomes: Outcome[] = [];
  /** Who awaits which message. */
  #awaited: Map<number, Awaiting> | undefined;

  constructor(first: number) {
    this.first = first;
    spare = undefined;
  }

  /** The number after its last message. */
  get end(): number {
    return this.first + this.#length;
  }

  /** Adds a message, unless the block is full or over. */
  append(json: string): boolean {
    if (this.#draft === undefined || this.#length === BLOCK_MESSAGES) return false;
    const start = this.#endOf(this.#length - 1);
    const { read, written } = encoder.encodeInto(json, this.#bytes.subarray(start));
    const end = start + written;
    if (read < json.length || end === BLOCK_BYTES) return false;
    this.#bytes[end] = 0x2c;
    this.#ends[this.#length] = end + 1;
    this.#length += 1;
    return true;
  }

  /** Packs what was written, which ends the writing. */
  pack({ pack, unpack }: Packing): void {
    if (this.#draft === undefined) return;
    this.#ends = this.#ends.slice(0, this.#length);
    this.#packedEnds = this.#ends.slice();
    this.#bytes = pack(this.#bytes.subarray(0, this.#endOf(this.#length - 1)), this.#packedEnds);
    this.#unpack = unpack;
    this.#giveDraftBack();
  }

  /** Bytes of a message in a request body, with its comma. */
  bytesOf(number: number): number {
    const index = number - this.first;
    return this.#endOf(index) - this.#endOf(index - 1);
  }

  /** Bytes of memory that a message takes. */
  memoryOf(number: number): number {
    const index = number - this.first;
    return this.#placeOf(index) - this.#placeOf(index - 1) + MESSAGE_OVERHEAD;
  }

  /** What gives the JSON of a message, also after the bytes are freed. */
  reader(): (number: number) => string {
    const { first } = this;
    // A draft will be written over.
    const bytes = this.#draft ? this.#bytes.slice(0, this.#endOf(this.#length - 1)) : this.#bytes;
    const ends = this.#draft ? this.#ends.slice(0, this.#length) : this.#ends;
    const places = this.#packedEnds ?? ends;
    const unpack = this.#unpack;
    return (number) => {
      const [before, at] = [number - first - 1, number - first];
      const [start, end] = [places[before] ?? 0, places[at] as number];
      if (!unpack) return decoder.decode(bytes.subarray(start, end - 1));
      const json = new Uint8Array((ends[at] as number) - (ends[before] ?? 0));
      unpack(bytes, start, end, json, 0);
      return decoder.decode(json.subarray(0, -1));
    };
  }

  /** Writes messages into a request body, and returns where they end in it. */
  write(from: number, to: number, target: Uint8Array, at: number): number {
    const start = this.#placeOf(from - this.first - 1);
    const end = this.#placeOf(to - this.first - 1);
    if (this.#unpack) return this.#unpack(this.#bytes, start, end, target, at);
    target.set(this.#bytes.subarray(start, end), at);
    return at + end - start;
  }

  /** Notes that the queue has accepted the messages before this one. */
  accept(to: number): void {
    const accepted = this.#accepted;
    this.#accepted = to - this.first;
    for (let index = accepted; this.#awaited && index < this.#accepted; index += 1) {
      this.#awaited.get(index)?.accept(true);
    }
  }

  /** Notes how messages ended. */
  settle(from: number, to: number, outcome: Outcome): void {
    for (let index = from - this.first; index < to - this.first; index += 1) {
      this.#outcomes[index] = outcome;
      this.#awaited?.get(index)?.settle(outcome);
    }
  }

  /** Frees the bytes, if so many messages that are no longer needed were the last ones. */
  free(count: number): void {
    this.#ended += count;
    if (this.#ended < this.#length) return;
    this.#bytes = NOTHING;
    this.#awaited = undefined;
    this.#giveDraftBack();
  }

  outcomeOf(number: number): Outcome | undefined {
    return this.#outcomes[number - this.first];
  }

  /** Whether the queue has accepted a message. */
  hasAccepted(number: number): boolean {
    return number - this.first < this.#accepted;
  }

  /** Tells who awaits a message when it is accepted, and when it ends. */
  await(number: number, awaiting: Awaiting): void {
    (this.#awaited ??= new Map()).set(number - this.first, awaiting);
  }

  #giveDraftBack(): void {
    if (this.#draft) spare = this.#draft;
    this.#draft = undefined;
  }

  #endOf(index: number): number {
    return index < 0 ? 0 : (this.#ends[index] as number);
  }

  #placeOf(index: number): number {
    return index < 0 ? 0 : ((this.#packedEnds ?? this.#ends)[index] as number);
  }
}
