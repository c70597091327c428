import { hash } from "node:crypto";
import {
  isSharedByRepeats,
  MAX_MESSAGE_ID_LENGTH,
  OBJECT_FIELDS,
  TEXT_FIELDS,
  type CallType,
} from "@countersign/protocol";

/** What tells a call from others of its type that have the same id. */
const CONTENT_FIELDS: readonly string[] = [...TEXT_FIELDS, ...OBJECT_FIELDS].filter(
  (field) => field !== "messageId" && isSharedByRepeats(field),
);

/** Enough for a name in front and the seconds of a time, such as `node-next-1763806312`. */
const BEGINNING_OF_ID = /^[\w-]{0,20}/;

/**
 * The key by which a repeat of a call is recognised (ADR 19): the same call again has the same key, and another call with
 * a used id another one.
 *
 * It begins like the id. Most clients put the time there, and the keys of calls that come together are then neighbours in the
 * index of a store. In no order, each call would have it write a page of the index.
 *
 * @param message The call as it came.
 * @param messageId Its id, if the client gave it one.
 * @param place What takes the place of an id: where the call is in a batch that has one.
 * @returns undefined for a call without an identity.
 */
export function keyOf(
  message: Readonly<Record<string, unknown>>,
  type: CallType,
  messageId: string | undefined,
  place: string | undefined,
): string | undefined {
  const id = messageId ?? place;
  if (id === undefined) return undefined;
  const content = CONTENT_FIELDS.map((field) => message[field]);
  // What is hashed begins with the kind of the id: a place is no id that looks like it.
  const text = JSON.stringify([messageId === undefined ? "place" : "id", id, type, content]);
  const [beginning = ""] = BEGINNING_OF_ID.exec(id) ?? [];
  // Several times as fast as an object of createHash(), which the garbage collector has to finalize.
  return `${beginning}.${hash("sha256", text, "base64url")}`;
}

/** The key by which the ledger of an earlier version recognises it. */
export function formerKeyOf(messageId: string | undefined, place: string | undefined): string | undefined {
  if (messageId === undefined) return place;
  // One that looks like a place in a batch was made longer than any other, so that it was not taken for one.
  return /#\d+$/.test(messageId) ? messageId.padEnd(MAX_MESSAGE_ID_LENGTH + 1, "#") : messageId;
}
