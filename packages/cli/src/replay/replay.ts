import { createReadStream, type ReadStream } from "node:fs";
import { stat } from "node:fs/promises";
import { sign } from "@countersign/core";
import { createTransport, type AttemptResult } from "@countersign/sender";
import { parseRecordedRequest, RecordingError, type RecordedRequest } from "@countersign/server/recording";
import { messageOf } from "../errors/usage-error.ts";
import { readLines } from "./read-lines.ts";

const ATTEMPT_TIMEOUT_MS = 5_000;

/** Settings of {@link replay}. */
export interface ReplayOptions {
  /** A recording, as `countersign serve --record` writes it. */
  readonly file: string;
  /** URL of the receiver; the recorded one does not count. */
  readonly to: string;
  /** Signs anew with this secret. Default: none, the recorded signature is sent. */
  readonly secret?: string | undefined;
  /** Called after each request. */
  readonly onResult?: ((result: ReplayedRequest) => void) | undefined;
  /** Stops after the request under way. */
  readonly signal?: AbortSignal | undefined;
}

/** One request that was sent again. */
export interface ReplayedRequest {
  /** Its line in the recording, from 1. */
  readonly line: number;
  readonly result: AttemptResult;
  /** How much of the file is done, from 0 to 1. */
  readonly progress: number;
}

/** What came of a replay. */
export interface ReplayReport {
  readonly sent: number;
  /** How many the receiver answered with 2xx. */
  readonly succeeded: number;
  readonly failed: number;
}

/**
 * Sends the requests of a recording again, byte for byte, one after the other and each once.
 *
 * @throws RecordingError when a line is none of a recording, or the file cannot be read. What came before was sent.
 * @example
 * ```ts
 * const { sent, failed } = await replay({ file: "traffic.jsonl", to: "http://localhost:3000/webhooks" });
 * ```
 */
export async function replay({ file, to, secret, onResult, signal }: ReplayOptions): Promise<ReplayReport> {
  const { size } = await stat(file).catch(unreadable(file));
  const transport = createTransport();
  let sent = 0;
  let succeeded = 0;
  try {
    for await (const { number, text, end } of readLines(open(file))) {
      if (signal?.aborted) break;
      const { headers, body } = parseRecordedRequest(text, number);
      const request = { url: to, headers: signed(headers, body, secret), body };
      const result = await transport.send(request, { timeoutMs: ATTEMPT_TIMEOUT_MS });
      sent += 1;
      if (result.outcome === "success") succeeded += 1;
      onResult?.({ line: number, result, progress: size === 0 ? 1 : end / size });
    }
  } catch (error) {
    if (error instanceof RangeError) throw new RecordingError(`${error.message} This is no recording.`);
    // What the system says of reading: a directory, or a disk that fails.
    if (error instanceof Error && "syscall" in error) unreadable(file)(error);
    throw error;
  } finally {
    await transport.close();
  }
  return { sent, succeeded, failed: sent - succeeded };
}

function open(file: string): ReadStream {
  return createReadStream(file, { highWaterMark: 65_536 });
}

function unreadable(file: string): (error: unknown) => never {
  return (error) => {
    throw new RecordingError(
      `Cannot read ${file}: ${messageOf(error)}. Give a file that countersign serve --record has written.`,
    );
  };
}

function signed(
  headers: RecordedRequest["headers"],
  body: Uint8Array,
  secret: string | undefined,
): Readonly<Record<string, string>> {
  if (secret === undefined) return headers;
  const others = Object.entries(headers).filter(([name]) => name.toLowerCase() !== "x-signature");
  return { ...Object.fromEntries(others), "X-Signature": sign(body, secret) };
}
