import { isBytes } from "@countersign/protocol";

/** Types of columns, by what PostgreSQL calls them, with their number in its catalogue. */
export const TYPE_NUMBERS = { bool: 16, bytea: 17, bigint: 20, integer: 23, text: 25 } as const;

/** The type of a column that is sent as an array. */
export type ElementType = keyof typeof TYPE_NUMBERS;

/** A value of such a column. */
export type Element = string | number | boolean | Uint8Array | null;

/** Of an array, and of one without elements. */
const HEADER_BYTES = 20;
const EMPTY_BYTES = 12;
/** Room for so many bytes of each element at first. */
const USUAL_BYTES: Readonly<Record<ElementType, number>> = {
  bool: 1,
  bytea: 600,
  bigint: 8,
  integer: 4,
  text: 40,
};

/**
 * An array of one dimension in PostgreSQL's binary format. As text, each element is quoted here and parsed there, and a body
 * takes two digits a byte: that costs more than the rest of the command.
 *
 * @throws TypeError when a value is not of the type
 */
export function binaryArray(type: ElementType, values: readonly Element[]): Buffer {
  const array = new BinaryArray(type, values.length);
  for (const value of values) array.add(value);
  return array.bytes();
}

/** A {@link binaryArray} to which elements are added one by one. */
export class BinaryArray {
  readonly #type: ElementType;
  readonly #writer: Writer;
  #count = 0;
  #hasNull = false;

  /** @param expected How many elements there will be, roughly. */
  constructor(type: ElementType, expected: number) {
    this.#type = type;
    this.#writer = new Writer(HEADER_BYTES + expected * (4 + USUAL_BYTES[type]));
    this.#writer.skip(HEADER_BYTES);
  }

  /** @throws TypeError when it is not of the type */
  add(value: Element): void {
    this.#count += 1;
    if (value === null) this.#hasNull = true;
    writeElement(this.#writer, this.#type, value);
  }

  /** The array with what was added until now. */
  bytes(): Buffer {
    const bytes = this.#writer.bytes();
    bytes.writeInt32BE(this.#count === 0 ? 0 : 1, 0);
    bytes.writeInt32BE(this.#hasNull ? 1 : 0, 4);
    bytes.writeInt32BE(TYPE_NUMBERS[this.#type], 8);
    if (this.#count === 0) return bytes.subarray(0, EMPTY_BYTES);
    bytes.writeInt32BE(this.#count, 12);
    // The first has the number 1.
    bytes.writeInt32BE(1, 16);
    return bytes;
  }
}

function writeElement(writer: Writer, type: ElementType, value: Element): void {
  if (value === null) writer.int32(-1);
  else if (typeof value === "string" && type === "text") writer.text(value);
  else if (typeof value === "number" && type === "bigint" && Number.isSafeInteger(value))
    writer.bigint(value);
  else if (typeof value === "number" && type === "integer" && (value | 0) === value) writer.integer(value);
  else if (typeof value === "boolean" && type === "bool") writer.bool(value);
  else if (type === "bytea" && isBytes(value)) writer.bytea(value);
  else throw new TypeError(`${String(value)} is no ${type}`);
}

/** Each element is its length in bytes, and its bytes. */
class Writer {
  #buffer: Buffer;
  #length = 0;

  constructor(bytes: number) {
    this.#buffer = Buffer.allocUnsafe(bytes);
  }

  /** Leaves so many bytes to be written later. */
  skip(bytes: number): void {
    this.#reserve(bytes);
    this.#length += bytes;
  }

  int32(value: number): void {
    this.#reserve(4);
    this.#length = this.#buffer.writeInt32BE(value, this.#length);
  }

  integer(value: number): void {
    this.int32(4);
    this.int32(value);
  }

  bigint(value: number): void {
    this.int32(8);
    const high = Math.floor(value / 2 ** 32);
    this.int32(high);
    this.int32((value - high * 2 ** 32) | 0);
  }

  bool(value: boolean): void {
    this.int32(1);
    this.#reserve(1);
    this.#length = this.#buffer.writeUInt8(value ? 1 : 0, this.#length);
  }

  text(value: string): void {
    // At most three bytes for each unit of UTF-16.
    this.#reserve(4 + value.length * 3);
    const written = this.#buffer.write(value, this.#length + 4);
    this.#buffer.writeInt32BE(written, this.#length);
    this.#length += 4 + written;
  }

  bytea(value: Uint8Array): void {
    this.int32(value.length);
    this.#reserve(value.length);
    this.#buffer.set(value, this.#length);
    this.#length += value.length;
  }

  bytes(): Buffer {
    return this.#buffer.subarray(0, this.#length);
  }

  #reserve(bytes: number): void {
    const needed = this.#length + bytes;
    if (needed <= this.#buffer.length) return;
    const larger = Buffer.allocUnsafe(Math.max(needed, this.#buffer.length * 2));
    this.#buffer.copy(larger, 0, 0, this.#length);
    this.#buffer = larger;
  }
}
