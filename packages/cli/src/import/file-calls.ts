import { createHash } from "node:crypto";
import { createReadStream } from "node:fs";
import { open } from "node:fs/promises";
import { CALL_TYPES, recordCall, serializeCall, ValidationError, type CallType } from "@countersign/protocol";
import { UsageError } from "../errors/usage-error.ts";
import { readCalls, typeOf, type FileCall } from "../input/read-calls.ts";
import type { Place } from "../input/read-lines.ts";
import { callOfMessage } from "../send/call-of-message.ts";
import type { SampleCall } from "../send/sample-call.ts";

/** A call to import. */
export interface ImportCall {
  readonly place: Place;
  readonly type: CallType;
  /** Its fields, with a `messageId`. */
  readonly call: SampleCall;
}

/** Problems that are told at once; more of them say nothing new. */
const MAX_PROBLEMS = 5;

/**
 * The calls of a file, from a place on, up to its size when the import began: what is added meanwhile may be half a line, and has
 * not been checked. A call without a `messageId` gets one that is the same in every run, so that the server
 * recognises it.
 *
 * @throws UsageError for a line that is not a call.
 */
export async function* importCalls(file: string, after: Place, size: number): AsyncGenerator<ImportCall> {
  if (size <= after.end) return;
  const chunks = createReadStream(file, { start: after.end, end: size - 1 });
  // If the last line had no newline yet, its newline comes now, and is not another line.
  const number = (await endsLine(file, after.end)) ? after.number : after.number - 1;
  for await (const found of readCalls(chunks, file, { number, end: after.end })) {
    yield importCallOf(found, file);
  }
}

/** Whether the next byte of a file begins a line. */
async function endsLine(file: string, end: number): Promise<boolean> {
  if (end === 0) return true;
  const handle = await open(file);
  try {
    const { buffer } = await handle.read(Buffer.alloc(1), 0, 1, end - 1);
    return buffer.toString() === "\n";
  } finally {
    await handle.close();
  }
}

function importCallOf(found: FileCall, file: string): ImportCall {
  const { place, fields } = found;
  if (place === undefined) {
    throw new UsageError(
      `${file} is one JSON document. Write one call on each line, for example with: jq -c '.[]' ${file}`,
    );
  }
  const type = typeOf(found, CALL_TYPES, file);
  const { messageId = idOf(found), ...call } = callOfMessage(type, fields);
  return { place, type, call: { ...call, messageId } };
}

function idOf({ place, fields }: FileCall): string {
  const text = `${place?.end} ${JSON.stringify(fields)}`;
  return `import-${createHash("sha256").update(text).digest("hex").slice(0, 32)}`;
}

/**
 * Checks every call of a file before the first one is sent, by the rules of the client and the server.
 *
 * @returns How many calls there are.
 * @throws UsageError naming the first lines that are wrong.
 */
export async function checkCalls(file: string, after: Place, size: number): Promise<number> {
  const problems: string[] = [];
  let count = 0;
  for await (const { place, type, call } of importCalls(file, after, size)) {
    count += 1;
    const problem = problemOf(type, call);
    if (problem !== undefined) problems.push(`line ${place.number}: ${problem}`);
    if (problems.length >= MAX_PROBLEMS) break;
  }
  if (problems.length === 0) return count;
  throw new UsageError(`${file}: ${problems.join(" ")} Nothing was sent. Correct the file.`);
}

function problemOf(type: CallType, call: SampleCall): string | undefined {
  if (call["timestamp"] == null) {
    return "The call has no `timestamp`, so it would count as happening now.";
  }
  try {
    serializeCall(recordCall(type, call, { messageId: () => "", now: () => 0 }));
    return undefined;
  } catch (error) {
    if (error instanceof ValidationError) return error.message;
    throw error;
  }
}
