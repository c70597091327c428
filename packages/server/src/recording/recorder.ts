import {
  type BigIntStats,
  closeSync,
  fstatSync,
  openSync,
  readSync,
  writeFileSync,
  writeSync,
} from "node:fs";
import { Socket } from "node:net";
import { fileMessageOf } from "@countersign/protocol";
import { makeFilePrivate } from "@countersign/sender";
import { ServerError } from "../errors/server-error.ts";
import { digestOf, recordedBefore } from "./recorded-before.ts";
import { formatRecordedRequest, type RecordedRequest } from "./recording.ts";
import { iso } from "../shapes/times.ts";

/** This many messages are recognised as already recorded. A retry arrives long before so many others. */
const REMEMBERED = 100_000;
/** How many bytes wait in this process for the reader of a pipe. */
const MAX_WAITING_BYTES = 1_048_576;
/** How long they do when the recording is closed, in milliseconds. */
const CLOSE_MS = 200;
const NEWLINE = 0x0a;

/** How {@link openRecorder} records. */
export interface RecordingOptions {
  /** The file to append to; made when it is not there. */
  readonly file: string;
  /** The time, in milliseconds since 1970. */
  readonly now: () => number;
  /** Called once if the file can no longer be written. Nothing is recorded from then on. */
  readonly onError: (error: unknown) => void;
}

/** Appends messages to a recording. */
export interface Recorder {
  /** Records a request, unless its body was recorded before, by this process or another: retries carry the same bytes. */
  record(request: Pick<RecordedRequest, "url" | "headers" | "body">): void;
  /** Idempotent. */
  close(): void;
}

/**
 * Opens a file to record into. A line that was cut off before, as by a kill, is ended, so that it spoils no other.
 *
 * @throws ServerError when the file cannot be opened.
 */
export function openRecorder({ file, now, onError }: RecordingOptions): Recorder {
  const descriptor = openForAppending(file);
  const kind = kindOf(descriptor);
  const recorded = kind.isFile() ? recordedBefore(descriptor) : new Set<string>();
  let writable = true;
  let closed = false;
  const fail = (error: unknown): void => {
    if (!writable) return;
    writable = false;
    onError(
      new ServerError(
        "ERR_RECORD_FILE",
        `Nothing more is recorded into ${file}: ${fileMessageOf(error)}. ${kind.isFIFO() ? "Start its reader, or a quicker one" : "Make room, or correct its permissions"}, and start again.`,
        error,
      ),
    );
  };
  const output = kind.isFIFO() ? pipeOutput(descriptor, fail) : fileOutput(descriptor);
  return {
    record({ url, headers, body }) {
      const digest = digestOf(body);
      if (!writable || recorded.has(digest)) return;
      recorded.add(digest);
      const [oldest = ""] = recorded;
      if (recorded.size > REMEMBERED) recorded.delete(oldest);
      const at = iso(now());
      try {
        output.append(formatRecordedRequest({ at, url, headers, body }));
      } catch (error) {
        fail(error);
      }
    },
    close() {
      if (!closed) output.close();
      closed = true;
    },
  };
}

/** Where the lines of a recording go. */
interface Output {
  /** Throws when the line cannot be written. */
  append(line: string): void;
  close(): void;
}

function fileOutput(descriptor: number): Output {
  return {
    // One short write, so that a kill leaves whole lines. One that ends early is continued, or throws.
    append: (line) => writeFileSync(descriptor, line),
    close: () => closeSync(descriptor),
  };
}

/** A pipe takes some kilobytes. To wait until its reader takes more would hold up everything that this process does. */
function pipeOutput(descriptor: number, onError: (error: unknown) => void): Output {
  const pipe = new Socket({ fd: descriptor, readable: false });
  pipe.on("error", onError);
  return {
    append(line) {
      if (pipe.writableLength > MAX_WAITING_BYTES)
        throw new Error("it is a pipe that is not read, and a mebibyte waits for its reader");
      pipe.write(line);
    },
    close() {
      pipe.end();
      const letGo = (): void => {
        if (pipe.writableLength > 0)
          onError(new Error("it was closed before its reader had read everything, and the rest is lost"));
        pipe.destroy();
      };
      setTimeout(letGo, CLOSE_MS).unref();
    },
  };
}

/** Not with numbers: after those of a pipe, `realpathSync` of Node 20 takes a link for a pipe, and modules are not found. */
function kindOf(descriptor: number): BigIntStats {
  return fstatSync(descriptor, { bigint: true });
}

function openForAppending(file: string): number {
  let descriptor: number | undefined;
  try {
    // Recordings contain personal data, and their headers may contain credentials.
    descriptor = openSync(file, "a+", 0o600);
    // Windows opens folders, too.
    if (kindOf(descriptor).isDirectory()) throw new Error("EISDIR: it is a folder");
    // A device such as /dev/stdout keeps its mode.
    if (kindOf(descriptor).isFile()) {
      makeFilePrivate(file);
      endLastLine(descriptor);
    }
    return descriptor;
  } catch (error) {
    if (descriptor !== undefined) closeSync(descriptor);
    throw new ServerError(
      "ERR_RECORD_FILE",
      `Cannot record into ${file}: ${fileMessageOf(error)}. Give --record a file that can be written.`,
      error,
    );
  }
}

function endLastLine(descriptor: number): void {
  const { size } = fstatSync(descriptor);
  const last = Buffer.alloc(1);
  if (size === 0 || readSync(descriptor, last, 0, 1, size - 1) === 0 || last[0] === NEWLINE) return;
  writeSync(descriptor, "\n");
}
