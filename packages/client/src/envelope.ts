import { formatTimestamp } from "@countersign/protocol";
import type { Messages } from "./messages.ts";
import { VERSION } from "./version.ts";

/** The parts of a batch around its messages: the library once for all of them, and the batch's own id. */
export interface Envelope {
  /** UTF-8 size of everything around the messages and the commas between them. */
  readonly bytes: number;
  /** The request body. `sentAt` (milliseconds since 1970) is of each attempt, the rest is of the batch. */
  write(messages: Messages, sentAt: number): Uint8Array<ArrayBuffer>;
}

const encoder = new TextEncoder();
const LIBRARY = JSON.stringify({ library: { name: "@countersign/client", version: VERSION } });

/** The envelope of a batch with this id. */
export function createEnvelope(batchId: string): Envelope {
  const head = '{"batch":[';
  const tail = (sentAt: number): Uint8Array =>
    encoder.encode(
      `],"context":${LIBRARY},"messageId":${JSON.stringify(batchId)},"sentAt":"${formatTimestamp(sentAt)}"}`,
    );
  return {
    bytes: head.length + tail(0).length,
    write(messages, sentAt) {
      const end = tail(sentAt);
      const body = new Uint8Array(head.length + messages.bytes - 1 + end.length);
      encoder.encodeInto(head, body);
      // The first byte of what follows takes the place of the comma after the last message.
      body.set(end, messages.write(body, head.length) - 1);
      return body;
    },
  };
}

/** The request headers that stay the same for the life of a client. */
export function createHeaders(
  writeKey: string,
  gzip: boolean,
  extra: Readonly<Record<string, string>>,
): Record<string, string> {
  const credentials = String.fromCharCode(...encoder.encode(`${writeKey}:`));
  return {
    ...extra,
    "User-Agent": `countersign-client/${VERSION}`,
    "Content-Type": "application/json",
    Authorization: `Basic ${btoa(credentials)}`,
    ...(gzip ? { "Content-Encoding": "gzip" } : {}),
  };
}
