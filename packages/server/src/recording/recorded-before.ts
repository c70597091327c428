import { createHash } from "node:crypto";
import { fstatSync, readSync } from "node:fs";
import { parseRecordedRequest } from "./recording.ts";

/** How much of the end of a file is looked at. What is older is not sent again. */
const LOOKED_AT_BYTES = 64 * 1_024 * 1_024;

/** By what a body is recognised as recorded. */
export function digestOf(body: Uint8Array): string {
  return createHash("sha256").update(body).digest("base64");
}

/** The digests of the bodies that a file has already, oldest first: after a restart, retries are still retries. */
export function recordedBefore(descriptor: number): Set<string> {
  const { size } = fstatSync(descriptor);
  const bytes = Buffer.alloc(Math.min(size, LOOKED_AT_BYTES));
  const read = readSync(descriptor, bytes, 0, bytes.length, size - bytes.length);
  // Programs on Windows begin a file with a byte order mark.
  const lines = bytes
    .subarray(0, read)
    .toString("utf8")
    .replace(/^\uFEFF/, "")
    .split("\n");
  // The first line may have begun before.
  const whole = size > bytes.length ? lines.slice(1) : lines;
  return new Set(whole.flatMap((line, index) => digestOfLine(line, index + 1)));
}

/** A line that was cut, or is none of ours, has nothing to recognise. */
function digestOfLine(line: string, number: number): readonly string[] {
  if (line === "") return [];
  try {
    return [digestOf(parseRecordedRequest(line, number).body)];
  } catch {
    return [];
  }
}
