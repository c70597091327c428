import type { Transport } from "@countersign/sender";
import { openRecorder, type RecordingOptions } from "./recorder.ts";

/**
 * A transport that appends each message to a file as it is first sent: the exact bytes and headers. Retries carry the same
 * bytes and are not recorded again; what a fault spoils on purpose is not recorded at all.
 *
 * @throws ServerError when the file cannot be opened.
 */
export function recordingTransport(transport: Transport, options: RecordingOptions): Transport {
  const recorder = openRecorder(options);
  return {
    send(request, limits) {
      if (request.fault === undefined) recorder.record(request);
      return transport.send(request, limits);
    },
    async close() {
      await transport.close();
      recorder.close();
    },
  };
}
