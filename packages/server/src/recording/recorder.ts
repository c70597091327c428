import { closeSync, fstatSync, openSync, readSync, writeFileSync, writeSync } from "node:fs";
import { fileMessageOf } from "@countersign/protocol";
import { makeFilePrivate } from "@countersign/sender";
import { ServerError } from "../errors/server-error.ts";
import { digestOf, recordedBefore } from "./recorded-before.ts";
import { formatRecordedRequest, type RecordedRequest } from "./recording.ts";
import { iso } from "../shapes/times.ts";

/** This many messages are recognised as already recorded. A retry arrives long before so many others. */
const REMEMBERED = 100_000;
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
  const recorded = fstatSync(descriptor).isFile() ? recordedBefore(descriptor) : new Set<string>();
  let writable = true;
  let closed = false;
  return {
    record({ url, headers, body }) {
      const digest = digestOf(body);
      if (!writable || recorded.has(digest)) return;
      recorded.add(digest);
      const [oldest = ""] = recorded;
      if (recorded.size > REMEMBERED) recorded.delete(oldest);
      const at = iso(now());
      try {
        // One short write, so that a kill leaves whole lines. One that ends early is continued, or throws.
        writeFileSync(descriptor, formatRecordedRequest({ at, url, headers, body }));
      } catch (error) {
        writable = false;
        onError(
          new ServerError(
            "ERR_RECORD_FILE",
            `Nothing more is recorded into ${file}: ${fileMessageOf(error)}. Make room, or correct its permissions, and start again.`,
            error,
          ),
        );
      }
    },
    close() {
      if (!closed) closeSync(descriptor);
      closed = true;
    },
  };
}

function openForAppending(file: string): number {
  let descriptor: number | undefined;
  try {
    // Recordings contain personal data, and their headers may contain credentials.
    descriptor = openSync(file, "a+", 0o600);
    // Windows opens folders, too.
    if (fstatSync(descriptor).isDirectory()) throw new Error("EISDIR: it is a folder");
    // A device such as /dev/stdout keeps its mode.
    if (fstatSync(descriptor).isFile()) {
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
