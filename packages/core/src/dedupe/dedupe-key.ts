import { hmac, toHex, toUtf8 } from "#platform";
import { repeatContent } from "@countersign/protocol";
import type { ReceivedMessage } from "../messages/messages.ts";

/** The tenant of the delivery. A receiver with one secret, or a list, has no tenants. */
export type DedupeScope =
  | { readonly by: "none" }
  | { readonly by: "tenant"; readonly tenant: string }
  // A secret function that names no tenant: a tenant is then known by its secret.
  | { readonly by: "secret"; readonly secret: string };

/**
 * The key under which a store remembers a delivery: 64 hex digits, whatever the message contains. A message with a `messageId`
 * is known by its tenant, type, id and content; a different message with a used id is another delivery. A message without
 * one is known by its exact text. Keys of different kinds cannot be equal: the hashed data names the kind.
 *
 * @param message - The message as received, before a schema transformed it.
 * @param covered - The bytes that were verified.
 */
export function dedupeKey(message: ReceivedMessage, covered: Uint8Array, scope: DedupeScope): string {
  const { type, messageId } = message;
  const content = typeof messageId === "string" && messageId !== "" ? repeatContent(message) : undefined;
  const delivery =
    content === undefined ? ["text", digest("text", covered)] : ["id", type, messageId, content];
  const whose = [scope.by, scope.by === "tenant" ? scope.tenant : ""];
  // A secret is the key and never the data, so that nothing about it can be learned from a store.
  const key = scope.by === "secret" ? scope.secret : "dedupe";
  return digest(key, toUtf8(JSON.stringify([...whose, ...delivery])));
}

function digest(key: string, data: Uint8Array): string {
  return toHex(hmac("sha256", key, data));
}
