import { createReadStream } from "node:fs";
import { stat } from "node:fs/promises";
import { sign, warnOfSecrets } from "@countersign/core";
import {
  checkOptionNames,
  HEADERS_SYNONYMS,
  isError,
  messageOf,
  type OptionNames,
  PROXY_SYNONYMS,
  SECRET_SYNONYMS,
  TO_SYNONYMS,
} from "@countersign/protocol";
import { checkProxy, createTransport, type AttemptResult, type ProxyOptions } from "@countersign/sender";
import { ATTEMPT_TIMEOUT_MS } from "@countersign/sender/explain";
import { parseRecordedRequest, RecordingError, type RecordedRequest } from "@countersign/server/recording";
import { inParallel } from "../input/in-parallel.ts";
import { mergeHeaders } from "../input/merge-headers.ts";
import { readLines } from "../input/read-lines.ts";

/** What the sender itself writes; every other header is a static one of the endpoint. */
const OWN_HEADERS: ReadonlySet<string> = new Set(["content-type", "user-agent", "x-signature"]);

const OPTION_NAMES: OptionNames<ReplayOptions> = {
  file: true,
  to: TO_SYNONYMS,
  secret: SECRET_SYNONYMS,
  keepHeaders: true,
  headers: HEADERS_SYNONYMS,
  ca: true,
  proxy: PROXY_SYNONYMS,
  noProxy: true,
  concurrency: true,
  onResult: true,
  onUnreadable: true,
  signal: true,
};

/** Settings of {@link replay}. */
export interface ReplayOptions extends ProxyOptions {
  /** A recording, as `countersign serve --record` and `countersign listen --record` write it. */
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
  /** Headers to send with every request, in place of recorded ones of the same name. */
  readonly headers?: Readonly<Record<string, string>> | undefined;
  /** Certificate authorities to trust instead of the system's, in PEM. */
  readonly ca?: string | undefined;
  /** How many requests may be in flight at once. With more than 1, they may arrive in another order. Default: 1. */
  readonly concurrency?: number | undefined;
  /** Called after each request. */
  readonly onResult?: ((result: ReplayedRequest) => void) | undefined;
  /** Called for each line that is not a recorded request, such as one that was cut off. It is left out. */
  readonly onUnreadable?: ((error: RecordingError) => void) | undefined;
  /** Stops after the requests in flight. */
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

/** The result of a replay. */
export interface ReplayReport {
  readonly sent: number;
  /** How many the receiver answered with 2xx. */
  readonly succeeded: number;
  readonly failed: number;
  /** How many lines are not recorded requests, and were left out. */
  readonly unreadable: number;
  /** Names of the headers that were not sent, because they were recorded for another origin. */
  readonly withheld: readonly string[];
}

/**
 * Sends the requests of a recording again, byte for byte, each once. They are sent one after the other, unless `concurrency` is
 * more than 1.
 *
 * @throws RecordingError if the file cannot be read, or its first line is not a line of a recording. Such a line further on is
 *   left out and reported: the process that recorded may have been killed in the middle of it.
 * @throws TypeError for an unknown option, a proxy that is not one, and a `concurrency` that is not a whole number from 1.
 * @example
 * ```ts
 * const { sent, failed } = await replay({ file: "traffic.jsonl", to: "http://localhost:3000/webhooks" });
 * ```
 */
export async function replay(options: ReplayOptions): Promise<ReplayReport> {
  checkOptionNames("replay()", options, OPTION_NAMES);
  const { file, to, secret, keepHeaders = false, concurrency = 1, proxy, noProxy, onResult } = options;
  if (!Number.isInteger(concurrency) || concurrency < 1)
    throw new TypeError(`replay({ concurrency }) must be a whole number, 1 or more, not ${concurrency}.`);
  checkProxy({ proxy, noProxy }, (name) => `replay({ ${name} })`);
  if (secret !== undefined) warnOfSecrets([secret]);
  const { size } = await stat(file).catch(unreadable(file));
  const transport = createTransport({ proxy, noProxy });
  const report = { sent: 0, succeeded: 0, unreadable: 0 };
  const withheld = new Set<string>();
  let progress = 0;
  const lines = recordedLines(options, () => {
    report.unreadable += 1;
  });
  try {
    await inParallel(lines, concurrency, async ({ number, end, recorded }) => {
      const { kept, left } = split(recorded, keepHeaders ? recorded.url : to);
      for (const name of left) withheld.add(name);
      const { body } = recorded;
      const request = { url: to, headers: headersOf(kept, body, options), body, ca: options.ca };
      const result = await transport.send(request, { timeoutMs: ATTEMPT_TIMEOUT_MS });
      report.sent += 1;
      if (result.outcome === "success") report.succeeded += 1;
      progress = Math.max(progress, size === 0 ? 1 : end / size);
      onResult?.({ line: number, result, progress });
    });
  } catch (error) {
    if (error instanceof RangeError) throw new RecordingError(`${file} is not a recording. ${error.message}`);
    // The system's error about reading: a directory, or a disk that fails.
    if (isError(error) && "syscall" in error) unreadable(file)(error);
    throw error;
  } finally {
    await transport.close();
  }
  return { ...report, failed: report.sent - report.succeeded, withheld: [...withheld] };
}

interface RecordedLine {
  readonly number: number;
  readonly end: number;
  readonly recorded: RecordedRequest;
}

/** The requests of a recording. A first line that is not one means that the file is something else. */
async function* recordedLines(
  { file, signal, onUnreadable }: ReplayOptions,
  onLeftOut: () => void,
): AsyncGenerator<RecordedLine> {
  let isFirst = true;
  for await (const { number, text, end, isWhole } of readLines(createReadStream(file))) {
    if (signal?.aborted) return;
    try {
      yield { number, end, recorded: parseRecordedRequest(text, number) };
    } catch (error) {
      if (!(error instanceof RecordingError) || isFirst) throw error;
      onLeftOut();
      onUnreadable?.(isWhole ? error : new RecordingError(cutOff(number)));
    }
    isFirst = false;
  }
}

function cutOff(line: number): string {
  return `Line ${line} is cut off: the recording ends in the middle of it, as when the process that recorded it was killed.`;
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

function unreadable(file: string): (error: unknown) => never {
  return (error) => {
    throw new RecordingError(
      `Cannot read ${file}: ${messageOf(error)}. Give a file that countersign serve --record or countersign listen --record has written.`,
    );
  };
}

/** What is sent: the recorded headers, those of the caller in place of them, and a new signature if there is a secret. */
function headersOf(
  recorded: RecordedRequest["headers"],
  body: Uint8Array,
  { secret, headers = {} }: ReplayOptions,
): Readonly<Record<string, string>> {
  const own = { ...headers, ...(secret !== undefined && { "X-Signature": sign(body, secret) }) };
  return mergeHeaders(recorded, own);
}
