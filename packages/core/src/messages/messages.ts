import { isObject, type JsonObject, type JsonValue } from "@countersign/protocol/json";
import { checkMessage } from "./message-fields.ts";

/** The seven message types (spec 2.2). */
export type MessageType = WebhookMessage["type"];

/**
 * Fields that every message except `delete` may have.
 *
 * The types promise only what {@link parseMessage} checks. A field that is null counts as absent, and its type says so.
 * The contents of `properties`, `traits` and `context` are not checked. Fields not listed here are kept as received.
 */
export interface MessageFields {
  /** Version of the message format: 1 (spec 9). */
  version?: number | null;
  /** Unique for each recorded call; the same on every repeat of it. */
  messageId?: string | null;
  /** The user's id in your own system. This or `anonymousId` is present. */
  userId?: string | null;
  /** An id for an anonymous user. */
  anonymousId?: string | null;
  /** When it happened: ISO 8601, UTC, milliseconds, such as `2026-11-20T16:02:14.510Z`. */
  timestamp?: string | null;
  /** Device, IP address and the like (spec 1). */
  context?: Context | null;
  /** Which destinations the call was meant for. */
  integrations?: JsonObject | null;
}

/** A web page was viewed. */
export interface PageMessage extends MessageFields {
  type: "page";
  /** Name of the page, such as `Pricing`. */
  name?: string | null;
  /** Category of the page, such as `Docs`. */
  category?: string | null;
  properties?: PageProperties | null;
}

/** A screen of a mobile app was viewed. Its context contains `device`, `os` and `app`. */
export interface ScreenMessage extends MessageFields {
  type: "screen";
  /** Name of the screen, such as `Home`. */
  name?: string | null;
  /** Category of the screen. */
  category?: string | null;
  properties?: JsonObject | null;
}

/** A user was recognised, or a trait of theirs changed; audiences and computed traits come as this type, too. */
export interface IdentifyMessage extends MessageFields {
  type: "identify";
  /** Free-form facts about the user, such as `{ plan: "pro" }`. */
  traits?: JsonObject | null;
}

/** A user did something. */
export interface TrackMessage extends MessageFields {
  type: "track";
  /** Name of the event, such as `Order Completed`. Not empty. */
  event: string;
  /** Free-form facts about the event. */
  properties?: JsonObject | null;
}

/** Two identities are one user. Read them with {@link aliasIdentity}: there are two spellings. */
export interface AliasMessage extends MessageFields {
  type: "alias";
  /** The previous identity, as the spec's sample spells it. */
  "Previous ID"?: string | null;
  /** The new identity, as the spec's sample spells it. */
  "User ID"?: string | null;
  /** The previous identity, in camel case. */
  previousId?: string | null;
}

/** A user belongs to a group: a company, a team. */
export interface GroupMessage extends MessageFields {
  type: "group";
  /** Id of the group. Not empty. */
  groupId: string;
  /** Free-form facts about the group, such as `{ industry: "Technology", employees: 329 }`. */
  traits?: JsonObject | null;
}

/** A request to delete a user's data (spec 1). It has no version and no context. */
export interface DeleteMessage extends MessageFields {
  type: "delete";
  /** The id of the user. Not empty. */
  userId: string;
}

/** The seven messages: a union discriminated on `type`. */
export type WebhookMessage =
  | PageMessage
  | ScreenMessage
  | IdentifyMessage
  | TrackMessage
  | AliasMessage
  | GroupMessage
  | DeleteMessage;

/**
 * An authentic message of a type that this version does not know, accepted only with `allowUnknownTypes`. Its common
 * fields are checked like those of any message. Distinguish it from the others with {@link isMessage} or the guard
 * of a type.
 */
export interface UnknownMessage extends MessageFields {
  type: string;
  [field: string]: unknown;
}

/** A message that a receiver accepts if `allowUnknownTypes` is set: one of the seven, or of another type. */
export type ReceivedMessage = WebhookMessage | UnknownMessage;

/**
 * The messages that an app accepts, by what it declares in an adapter's `WebhookTypes`: an {@link
 * UnknownMessage}, too, if it declares `allowUnknownTypes: true`.
 */
export type AcceptedMessage<WebhookTypes> = WebhookTypes extends { readonly allowUnknownTypes: true }
  ? ReceivedMessage
  : WebhookMessage;

/** Properties of a page. The service documents these four as strings. They are not checked: each may be any JSON. */
export interface PageProperties {
  path?: JsonValue;
  referrer?: JsonValue;
  title?: JsonValue;
  url?: JsonValue;
  [property: string]: JsonValue | undefined;
}

/**
 * Information about the user's surroundings. The fields listed are those that the service documents. The
 * sender's platform fills it in, and it varies a lot, so its contents are not checked: any field may be any
 * JSON.
 */
export interface Context {
  active?: JsonValue;
  /** Documented: `{ name, version, build, namespace }`. */
  app?: JsonValue;
  /** Documented: `{ name, source, medium, term, content }`. */
  campaign?: JsonValue;
  /** Documented: `{ id, advertisingId, manufacturer, model, name, type }`. */
  device?: JsonValue;
  ip?: JsonValue;
  /** Documented: `{ name, version }`. */
  library?: JsonValue;
  locale?: JsonValue;
  /** Documented: `{ city, country, region }`. */
  location?: JsonValue;
  /** Documented: `{ carrier }`. */
  network?: JsonValue;
  /** Documented: `{ name, version }`. */
  os?: JsonValue;
  /** Documented: the properties of a page. */
  page?: JsonValue;
  /** Documented: `{ id, type, name, url, link }`. */
  referrer?: JsonValue;
  screen?: JsonValue;
  timezone?: JsonValue;
  traits?: JsonValue;
  userAgent?: JsonValue;
  [field: string]: JsonValue | undefined;
}

/**
 * Whether a value is one of the seven messages, by the same rules as `parseMessage`.
 *
 * @example
 * ```ts
 * const value: unknown = JSON.parse(text);
 * if (isMessage(value)) await handle(value);
 * ```
 */
export function isMessage(value: unknown): value is WebhookMessage {
  return checkMessage(value) === undefined;
}

/** Whether a message is a page. */
export function isPage(message: ReceivedMessage): message is PageMessage {
  return message.type === "page";
}

/** Whether a message is a screen. */
export function isScreen(message: ReceivedMessage): message is ScreenMessage {
  return message.type === "screen";
}

/** Whether a message is an identify. */
export function isIdentify(message: ReceivedMessage): message is IdentifyMessage {
  return message.type === "identify";
}

/** Whether a message is a track. */
export function isTrack(message: ReceivedMessage): message is TrackMessage {
  return message.type === "track";
}

/** Whether a message is an alias. */
export function isAlias(message: ReceivedMessage): message is AliasMessage {
  return message.type === "alias";
}

/** Whether a message is a group. */
export function isGroup(message: ReceivedMessage): message is GroupMessage {
  return message.type === "group";
}

/** Whether a message is a delete. */
export function isDelete(message: ReceivedMessage): message is DeleteMessage {
  return message.type === "delete";
}

/**
 * The two identities of an alias, whichever way they are spelt: `'Previous ID'` and `'User ID'` as in the spec's sample,
 * or `previousId` and `userId`.
 *
 * @example
 * ```ts
 * if (message.type === "alias") {
 *   const { previousId, userId } = aliasIdentity(message);
 *   await merge(previousId, userId);
 * }
 * ```
 */
export function aliasIdentity(message: AliasMessage): { previousId: string; userId: string } {
  // parseMessage has checked that each identity is there in one of its spellings.
  return {
    // An empty text counts as absent there, and so it does here.
    previousId: message["Previous ID"] || message.previousId || "",
    userId: message["User ID"] || message.userId || "",
  };
}

/**
 * A value inside `properties`, `traits` or `context`. Their contents are not checked, so any part of the path
 * may be missing or have another type.
 *
 * @param from - The object to start from.
 * @param path - The names of the fields, from the outside in.
 * @returns The value, or undefined if it does not exist.
 * @example
 * ```ts
 * const model = valueAt(message.context, "device", "model");
 * if (typeof model === "string") console.log(model);
 * ```
 */
export function valueAt(
  from: Context | PageProperties | JsonObject | null | undefined,
  ...path: readonly string[]
): JsonValue | undefined {
  let value: unknown = from;
  for (const name of path) {
    value = isObject(value) && Object.hasOwn(value, name) ? value[name] : undefined;
  }
  // It is inside an object of JSON.
  return value as JsonValue | undefined;
}

/**
 * Ends an exhaustive `switch`: it does not compile while a type is left out.
 *
 * @throws TypeError if it is reached at run time, by a message of a type that this version does not know.
 * @example
 * ```ts
 * switch (message.type) {
 *   case "track":
 *     return record(message.event);
 *   case "delete":
 *     return forget(message.userId);
 *   case "page":
 *   case "screen":
 *   case "identify":
 *   case "alias":
 *   case "group":
 *     return;
 *   default:
 *     return assertNever(message);
 * }
 * ```
 */
export function assertNever(message: never): never {
  const { type } = message as { type?: unknown };
  throw new TypeError(`No case handles messages of type ${JSON.stringify(type)}.`);
}
