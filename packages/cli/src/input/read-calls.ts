import { isError, isObject, messageOf, parseJson, quote } from "@countersign/protocol";
import { readIntegers, type ReadIntegers } from "@countersign/server/json";
import { UsageError } from "../errors/usage-error.ts";
import { readLines, type Line, type Place } from "./read-lines.ts";

/** A document that is not JSON lines is read as a whole, up to this. */
const MAX_DOCUMENT_BYTES = 8 * 1_024 * 1_024;

/** A call that was read from a file. */
export interface FileCall {
  /** Where it is, for messages: `line 3`, or `item 3` of an array. */
  readonly where: string;
  /** Where it ends, if the file has one call on each line. */
  readonly place?: Place;
  /** Its fields, `type` among them. Nothing else of it is checked. */
  readonly fields: Readonly<Record<string, unknown>>;
}

/**
 * Reads calls: one JSON object on each line, or one JSON document, which is an object or an array of objects. Lines are read one
 * by one, so that a file may have any size; a document has 8 MiB at most.
 *
 * @param name What was given, for the errors.
 * @param after Where the chunks begin. Default: at the beginning of the file.
 * @throws UsageError for a file that cannot be read, and for a line or an item that is not an object.
 */
export async function* readCalls(
  chunks: AsyncIterable<Buffer>,
  name: string,
  after?: Place,
): AsyncGenerator<FileCall> {
  const lines = readLines(chunks, after);
  try {
    const first = await lines.next();
    if (first.done) return;
    if (!isObject(parsed(first.value.text))) {
      yield* documentOf([first.value.text, ...(await rest(lines, first.value, name))].join("\n"), name);
      return;
    }
    yield await callOf(first.value, name);
    for await (const line of lines) yield await callOf(line, name);
  } catch (error) {
    if (error instanceof RangeError) throw new UsageError(`${name}: ${error.message} ${FORM}`);
    if (isError(error) && "syscall" in error)
      throw new UsageError(`Cannot read ${name}: ${messageOf(error)}. ${FORM}`);
    throw error;
  }
}

const FORM = "Give a file with one JSON object on each line, or with one JSON array of objects.";

async function callOf({ number, end, text, isWhole }: Line, name: string): Promise<FileCall> {
  const value = parsed(text);
  if (!isObject(value)) throw new UsageError(`${name}: ${problemOfLine(number, value, isWhole)}`);
  const where = `line ${number}`;
  const read = await readIntegers(text, value);
  assertExact(read, name, () => where);
  return { where, place: { number, end }, fields: read.value as FileCall["fields"] };
}

/** JSON.parse changes the digits of large integers: two orders would become one. What it reads as infinite would become null. */
function assertExact(
  { unsafeIntegers }: ReadIntegers,
  name: string,
  whereOf: (index: number | undefined) => string,
): void {
  for (const [index, [path]] of unsafeIntegers) {
    if (path === undefined) continue;
    throw new UsageError(
      `${name}: ${whereOf(index)}: ${path} is a number that JavaScript does not keep: an integer above 2^53, or one above 1.8e308. Write it as a string.`,
    );
  }
}

function problemOfLine(number: number, value: unknown, isWhole: boolean): string {
  if (value !== undefined) return `Line ${number} is not an object. ${FORM}`;
  return isWhole ? `Line ${number} is not JSON. ${FORM}` : `Line ${number} is cut off. ${FORM}`;
}

/** What follows the first line of a document. A larger file has lines, and the first of them is wrong. */
async function rest(lines: AsyncIterable<Line>, { number }: Line, name: string): Promise<string[]> {
  const texts: string[] = [];
  let bytes = 0;
  for await (const { text } of lines) {
    bytes += text.length;
    if (bytes > MAX_DOCUMENT_BYTES) {
      throw new UsageError(
        `${name}: Line ${number} is not a JSON object, and the file is larger than 8 MiB, too large for one JSON document. ${FORM}`,
      );
    }
    texts.push(text);
  }
  return texts;
}

async function* documentOf(text: string, name: string): AsyncGenerator<FileCall> {
  let value: unknown;
  try {
    value = parseJson(text);
  } catch (error) {
    throw new UsageError(`${name} is not JSON: ${messageOf(error)}. ${FORM}`);
  }
  const isList = Array.isArray(value);
  const whereOf = (index = 0): string => (isList ? `item ${index + 1}` : "the call");
  const read = await readIntegers(`{"batch":${isList ? text : `[${text}]`}}`, {
    batch: isList ? value : [value],
  });
  assertExact(read, name, whereOf);
  for (const [index, fields] of (read.value as { readonly batch: readonly unknown[] }).batch.entries()) {
    if (!isObject(fields)) throw new UsageError(`${name}: ${whereOf(index)} is not an object. ${FORM}`);
    yield { where: whereOf(index), fields };
  }
}

function parsed(text: string): unknown {
  try {
    return parseJson(text);
  } catch {
    return undefined;
  }
}

/** The type of a call in a file. @throws UsageError for a type that is not one of these. */
export function typeOf<Type extends string>(
  { where, fields }: FileCall,
  types: readonly Type[],
  name: string,
): Type {
  const { type } = fields;
  const known = types.find((one) => one === type);
  if (known !== undefined) return known;
  const problem =
    typeof type === "string" ? `has the unknown type ${quote(type)}` : "has no `type` that is a string";
  throw new UsageError(`${name}: ${where} ${problem}. The types are ${types.join(", ")}.`);
}
