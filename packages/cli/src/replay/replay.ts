import { createReadStream, type ReadStream } from "node:fs";
import { stat } from "node:fs/promises";
import { sign } from "@countersign/core";
import { checkOptionNames, type OptionNames } from "@countersign/protocol";
import { createTransport, type AttemptResult } from "@countersign/sender";
import { parseRecordedRequest, RecordingError, type RecordedRequest } from "@countersign/server/recording";
import { messageOf } from "../errors/usage-error.ts";
import { readLines } from "./read-lines.ts";

const ATTEMPT_TIMEOUT_MS = 5_000;

/** What the sender itself writes; every other header is a static one of the endpoint. */
const OWN_HEADERS: ReadonlySet<string> = new Set(["content-type", "user-agent", "x-signature"]);

const OPTION_NAMES: OptionNames<ReplayOptions> = {
  file: true,
  to: true,
  secret: true,
  keepHeaders: true,
  onResult: true,
  signal: true,
};

/** Settings of {@link replay}. */
export interface ReplayOptions {
  /** A recording, as `countersign serve --record` writes it. */
  readonly file: string;
  /** URL of the receiver; the recorded one does not count. */
  readonly to: string;
  /**
   * Sends the static headers of the recording to any receiver. Default: only to the origin they were recorded for, since they
   * are often credentials.
   */
  readonly keepHeaders?: boolean | undefined;
  /** Signs again with this secret. Default: sends the recorded signature. */
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
  /** Names of the headers that were not sent, because they were recorded for another origin. */
  readonly withheld: readonly string[];
}

/**
 * Sends the requests of a recording again, byte for byte, one after the other and each once.
 *
 * @throws RecordingError if a line is not a line of a recording, or the file cannot be read. The lines before it have been sent.
 * @example
 * ```ts
 * const { sent, failed } = await replay({ file: "traffic.jsonl", to: "http://localhost:3000/webhooks" });
 * ```
 */
export async function replay(options: ReplayOptions): Promise<ReplayReport> {
  checkOptionNames("replay()", options, OPTION_NAMES);
  const { file, to, secret, keepHeaders = false, onResult, signal } = options;
  const { size } = await stat(file).catch(unreadable(file));
  const transport = createTransport();
  let sent = 0;
  let succeeded = 0;
  const withheld = new Set<string>();
  try {
    for await (const { number, text, end } of readLines(open(file))) {
      if (signal?.aborted) break;
      const recorded = parseRecordedRequest(text, number);
      const { body } = recorded;
      const { kept, left } = split(recorded, keepHeaders ? recorded.url : to);
      for (const name of left) withheld.add(name);
      const request = { url: to, headers: signed(kept, body, secret), body };
      const result = await transport.send(request, { timeoutMs: ATTEMPT_TIMEOUT_MS });
      sent += 1;
      if (result.outcome === "success") succeeded += 1;
      onResult?.({ line: number, result, progress: size === 0 ? 1 : end / size });
    }
  } catch (error) {
    if (error instanceof RangeError)
      throw new RecordingError(`${error.message} The file is not a recording.`);
    // The system's error about reading: a directory, or a disk that fails.
    if (error instanceof Error && "syscall" in error) unreadable(file)(error);
    throw error;
  } finally {
    await transport.close();
  }
  return { sent, succeeded, failed: sent - succeeded, withheld: [...withheld] };
}

/** The headers for a URL, and the names of those that were recorded for another origin. */
function split(
  { url, headers }: RecordedRequest,
  to: string,
): { readonly kept: RecordedRequest["headers"]; readonly left: readonly string[] } {
  if (originOf(url) === originOf(to)) return { kept: headers, left: [] };
  const entries = Object.entries(headers);
  return {
    kept: Object.fromEntries(entries.filter(isOwn)),
    left: entries.filter((entry) => !isOwn(entry)).map(([name]) => name),
  };
}

function isOwn([name]: readonly [string, string]): boolean {
  return OWN_HEADERS.has(name.toLowerCase());
}

function originOf(url: string): string | undefined {
  return URL.canParse(url) ? new URL(url).origin : undefined;
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
