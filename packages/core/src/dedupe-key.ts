import { hmac, toHex, toUtf8 } from "#platform";
import type { ReceivedMessage } from "./messages.ts";

/** Whose delivery it is. A receiver with one secret, or a list, has no tenants. */
export type DedupeScope =
  | { readonly by: "none" }
  | { readonly by: "tenant"; readonly tenant: string }
  // A secret function that names no tenant: a tenant is then known by its secret.
  | { readonly by: "secret"; readonly secret: string };

/**
 * The fields in which a repeat may differ from the message that it repeats: a client that sends its queue again stamps it
 * again and adds what it has learned about the device.
 */
const VARIABLE_FIELDS: ReadonlySet<string> = new Set([
  "version",
  "context",
  "integrations",
  "timestamp",
  "receivedAt",
  "sentAt",
  "originalTimestamp",
]);

/**
 * The key under which a store remembers a delivery: 64 hex digits, whatever the message holds. A message with a `messageId`
 * is known by its tenant, type, id and content; a different message with a used id is another delivery. A message without
 * one is known by its exact text. The kinds of key cannot meet: what is hashed names its kind.
 *
 * @param message - The message as received, before a schema transformed it.
 * @param covered - The bytes that were verified.
 */
export function dedupeKey(message: ReceivedMessage, covered: Uint8Array, scope: DedupeScope): string {
  const { type, messageId } = message;
  const content = typeof messageId === "string" && messageId !== "" ? contentOf(message) : undefined;
  const delivery =
    content === undefined ? ["text", digest("text", covered)] : ["id", type, messageId, content];
  const whose = [scope.by, scope.by === "tenant" ? scope.tenant : ""];
  // A secret is the key and never the data, so that nothing about it can be learned from a store.
  const key = scope.by === "secret" ? scope.secret : "dedupe";
  return digest(key, toUtf8(JSON.stringify([...whose, ...delivery])));
}

/** The message without what may differ in a repeat, or undefined where it is nested too deep to be written. */
function contentOf(message: ReceivedMessage): string | undefined {
  try {
    return JSON.stringify(Object.entries(message).filter(([name]) => !VARIABLE_FIELDS.has(name)));
  } catch {
    return undefined;
  }
}

function digest(key: string, data: Uint8Array): string {
  return toHex(hmac("sha256", key, data));
}
