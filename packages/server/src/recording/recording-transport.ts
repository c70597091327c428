import { createHash } from "node:crypto";
import { closeSync, fchmodSync, fstatSync, openSync, writeSync } from "node:fs";
import type { Transport } from "@countersign/sender";
import { messageOf, ServerError } from "../errors/server-error.ts";
import { formatRecordedRequest } from "./recording.ts";

/** This many messages are recognised as already recorded. A retry arrives long before so many others. */
const REMEMBERED = 100_000;

/** How {@link recordingTransport} records. */
export interface RecordingOptions {
  /** The file to append to; made when it is not there. */
  readonly file: string;
  /** The time, in milliseconds since 1970. */
  readonly now: () => number;
  /** Called once if the file can no longer be written. Forwarding continues. */
  readonly onError: (error: unknown) => void;
}

/**
 * A transport that appends each message to a file as it is first sent: the exact bytes and headers. Retries carry the same
 * bytes and are not recorded again; what a fault spoils on purpose is not recorded at all.
 *
 * @throws ServerError when the file cannot be opened.
 */
export function recordingTransport(
  transport: Transport,
  { file, now, onError }: RecordingOptions,
): Transport {
  const descriptor = openForAppending(file);
  const recorded = new Set<string>();
  let writable = true;
  let closed = false;

  const record = (url: string, headers: Readonly<Record<string, string>>, body: Uint8Array): void => {
    const digest = createHash("sha256").update(body).digest("base64");
    if (!writable || recorded.has(digest)) return;
    recorded.add(digest);
    const [oldest = ""] = recorded;
    if (recorded.size > REMEMBERED) recorded.delete(oldest);
    try {
      // One short write, so that a kill leaves whole lines.
      writeSync(descriptor, formatRecordedRequest({ at: new Date(now()).toISOString(), url, headers, body }));
    } catch (error) {
      writable = false;
      onError(error);
    }
  };

  return {
    send(request, options) {
      if (request.fault === undefined) record(request.url, request.headers, request.body);
      return transport.send(request, options);
    },
    async close() {
      await transport.close();
      if (!closed) closeSync(descriptor);
      closed = true;
    },
  };
}

function openForAppending(file: string): number {
  try {
    // What is recorded is about people, and its headers may hold credentials.
    const descriptor = openSync(file, "a", 0o600);
    // A device such as /dev/stdout keeps its mode.
    if (fstatSync(descriptor).isFile()) fchmodSync(descriptor, 0o600);
    return descriptor;
  } catch (error) {
    throw new ServerError(
      "ERR_RECORD_FILE",
      `Cannot record into ${file}: ${messageOf(error)}. Give --record a file that can be written.`,
      error,
    );
  }
}
