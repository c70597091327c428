import { StoreError } from "@countersign/sender/store";
import { TYPE_NUMBERS } from "./binary-array.ts";
import type { PostgresQuery } from "./postgres-pool.ts";

type Parse = (value: string) => unknown;

/** Texts are as they come. Counts and times fit a number. */
const PARSERS: ReadonlyMap<number, Parse> = new Map<number, Parse>([
  [TYPE_NUMBERS.bool, (value) => value === "t"],
  [TYPE_NUMBERS.bytea, bytesOf],
  [TYPE_NUMBERS.bigint, Number],
  [TYPE_NUMBERS.integer, Number],
]);

/**
 * How the values of an answer are read: booleans, numbers and bytes are made of them, and all else stays text. The parsers of the driver are
 * the whole app's, and it may have replaced them.
 */
export const RESULT_TYPES: NonNullable<PostgresQuery["types"]> = {
  getTypeParser: (type, format) => (format === "binary" ? refuse : (PARSERS.get(type) ?? ((value) => value))),
};

/** The driver has made text of it, so that bytes which are no UTF-8 are lost. */
function refuse(): never {
  throw new StoreError(
    "ERR_STORE_OPEN",
    "The driver asks the database for binary values, which it cannot read all: `binary` is true for the pool, or in the defaults of pg. Leave it out.",
  );
}

/** As bytea_output writes them: in hexadecimal digits, or as ASCII in which the other bytes are three octal digits. */
function bytesOf(value: string): Buffer {
  if (value.startsWith("\\x")) return Buffer.from(value.slice(2), "hex");
  return Buffer.from(value.replaceAll(/\\(?:\\|([0-7]{3}))/g, characterOf), "latin1");
}

function characterOf(_: string, octal: string | undefined): string {
  return octal === undefined ? "\\" : String.fromCharCode(Number.parseInt(octal, 8));
}
