import { open, type FileHandle } from "node:fs/promises";
import { isObject, quote } from "@countersign/protocol";
import { messageOf, UsageError } from "../errors/usage-error.ts";
import { readLines } from "./read-lines.ts";

/** A document that is not JSON lines is read as a whole, up to this. */
const MAX_DOCUMENT_BYTES = 8 * 1_024 * 1_024;

/** A call that was read from a file. */
export interface FileCall {
  /** Where it is, for messages: `line 3`, or `item 3` of an array. */
  readonly where: string;
  /** Bytes of the file up to its end, if the file has one call on each line. */
  readonly end: number;
  /** Its fields, `type` among them. Nothing else of it is checked. */
  readonly fields: Readonly<Record<string, unknown>>;
}

/**
 * Reads calls: one JSON object on each line, or one JSON document, which is an object or an array of objects. Lines are read one
 * by one, so that a file may have any size; a document has 8 MiB at most.
 *
 * @param name What was given, for the errors.
 * @throws UsageError for a file that cannot be read, and for a line or an item that is not an object.
 */
export async function* readCalls(chunks: AsyncIterable<Buffer>, name: string): AsyncGenerator<FileCall> {
  const lines = readLines(chunks);
  try {
    const first = await lines.next();
    if (first.done) return;
    const value = parsed(first.value.text);
    if (!isObject(value)) {
      yield* documentOf([first.value.text, ...(await rest(lines, name))].join("\n"), name);
      return;
    }
    yield { where: `line ${first.value.number}`, end: first.value.end, fields: value };
    for await (const { number, text, end, isWhole } of lines) {
      const fields = parsed(text);
      if (!isObject(fields)) throw new UsageError(`${name}: ${problemOfLine(number, fields, isWhole)}`);
      yield { where: `line ${number}`, end, fields };
    }
  } catch (error) {
    if (error instanceof RangeError) throw new UsageError(`${name}: ${error.message} ${FORM}`);
    if (error instanceof Error && "syscall" in error) throw unreadable(name, error);
    throw error;
  }
}

const FORM = "Give a file with one JSON object on each line, or with one JSON array of objects.";

function problemOfLine(number: number, value: unknown, isWhole: boolean): string {
  if (value !== undefined) return `Line ${number} is not an object. ${FORM}`;
  return isWhole ? `Line ${number} is not JSON. ${FORM}` : `Line ${number} is cut off. ${FORM}`;
}

async function rest(lines: AsyncIterable<{ readonly text: string }>, name: string): Promise<string[]> {
  const texts: string[] = [];
  let bytes = 0;
  for await (const { text } of lines) {
    bytes += text.length;
    if (bytes > MAX_DOCUMENT_BYTES) throw new UsageError(`${name} is larger than 8 MiB. ${FORM}`);
    texts.push(text);
  }
  return texts;
}

function* documentOf(text: string, name: string): Generator<FileCall> {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch (error) {
    throw new UsageError(`${name} is not JSON: ${messageOf(error)}. ${FORM}`);
  }
  const items = Array.isArray(value) ? value : [value];
  for (const [index, fields] of items.entries()) {
    const where = Array.isArray(value) ? `item ${index + 1}` : "the call";
    if (!isObject(fields)) throw new UsageError(`${name}: ${where} is not an object. ${FORM}`);
    yield { where, end: 0, fields };
  }
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text) as unknown;
  } catch {
    return undefined;
  }
}

/** Opens a file to read calls from. @throws UsageError */
export async function openCalls(file: string): Promise<FileHandle> {
  return open(file).catch((error: unknown) => {
    throw unreadable(file, error);
  });
}

function unreadable(name: string, error: unknown): UsageError {
  return new UsageError(`Cannot read ${name}: ${messageOf(error)}. ${FORM}`);
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
