import { formatTimestamp } from "@countersign/protocol";
import type { MessageRange } from "../queue/message-range.ts";
import { VERSION } from "../version.ts";

const encoder = new TextEncoder();
const LIBRARY = JSON.stringify({ library: { name: "@countersign/client", version: VERSION } });

/**
 * The body of a request: messages, and around them the library once for all of them, and the id of their batch.
 *
 * @param sentAt - Milliseconds since 1970. It is of each attempt, the rest is of the batch.
 */
export function requestBody(id: string, messages: MessageRange, sentAt: number): Uint8Array<ArrayBuffer> {
  const head = '{"batch":[';
  const tail = `],"context":${LIBRARY},"messageId":${JSON.stringify(id)},"sentAt":"${formatTimestamp(sentAt)}"}`;
  const end = encoder.encode(tail);
  // The first byte of what follows takes the place of the comma after the last message.
  const body = new Uint8Array(head.length + messages.bytes - 1 + end.length);
  encoder.encodeInto(head, body);
  body.set(end, messages.write(body, head.length) - 1);
  return body;
}

/** A text in UTF-8, in Base64. */
export function base64(text: string): string {
  return btoa(String.fromCharCode(...encoder.encode(text)));
}

/** The request headers that stay the same for the life of a client. */
export function createHeaders(
  writeKey: string,
  gzip: boolean,
  extra: Readonly<Record<string, string>>,
): Record<string, string> {
  return {
    ...extra,
    "User-Agent": `countersign-client/${VERSION}`,
    "Content-Type": "application/json",
    Authorization: `Basic ${base64(`${writeKey}:`)}`,
    ...(gzip && { "Content-Encoding": "gzip" }),
  };
}
