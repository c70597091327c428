import type { MessageType } from "@countersign/core";
import type { AttemptOutcome } from "./attempt.ts";
import type { DeliveryState, DeliverySummary } from "./delivery.ts";
import { isAfterCursor, parseCursor } from "./cursor.ts";

/** One value, or several of which any may match. */
export type OneOrMore<T> = T | readonly T[];

/** Selects deliveries. Every given field must match; of a list, any item. */
export interface DeliveryFilter {
  /** Its state. */
  readonly state?: OneOrMore<DeliveryState> | undefined;
  /** Name of the source of the call. */
  readonly source?: OneOrMore<string> | undefined;
  /** `<source>/<destination>`. */
  readonly destination?: OneOrMore<string> | undefined;
  /** `type` of the message. */
  readonly type?: OneOrMore<MessageType> | undefined;
  /** `messageId` of the message. */
  readonly messageId?: OneOrMore<string> | undefined;
  /** `userId` or `anonymousId`. */
  readonly identity?: OneOrMore<string> | undefined;
  /** Name of a track event. */
  readonly event?: OneOrMore<string> | undefined;
  /** How the last attempt ended. */
  readonly outcome?: OneOrMore<AttemptOutcome> | undefined;
  /** Status of the response to the last attempt. */
  readonly status?: OneOrMore<number> | undefined;
  /** URL of the endpoint of the last attempt. */
  readonly endpoint?: OneOrMore<string> | undefined;
  /** Searches: it is the delivery's id, its `messageId` or its identity, or the event's name starts with it. */
  readonly q?: string | undefined;
  /** Accepted at this time or later, in milliseconds since 1970. */
  readonly since?: number | undefined;
  /** Accepted before this time, in milliseconds since 1970. */
  readonly until?: number | undefined;
  /** How many, 1 to 1,000. Default: 100. */
  readonly limit?: number | undefined;
  /** Cursor of the last delivery of a page (`cursorOf`): the page after it. */
  readonly after?: string | undefined;
}

/** A field of a filter that is compared with the field of the same name. */
export type ComparedField = "state" | "source" | "destination" | "type" | "messageId" | "identity" | "event";

/** A field of a filter that is compared with the last attempt. */
export type LastAttemptField = "outcome" | "status" | "endpoint";

export const COMPARED_FIELDS: readonly ComparedField[] = [
  "state",
  "source",
  "destination",
  "type",
  "messageId",
  "identity",
  "event",
];

export const LAST_ATTEMPT_FIELDS: readonly LastAttemptField[] = ["outcome", "status", "endpoint"];

/** How many a page lists unless told otherwise. */
export const DEFAULT_LIMIT = 100;
/** The most that one page can list. */
export const MAX_LIMIT = 1_000;

/** How many to list: the limit of a filter within its bounds, or the default. */
export function limitOf({ limit = DEFAULT_LIMIT }: { readonly limit?: number | undefined }): number {
  return Math.min(Math.max(Math.trunc(limit), 0), MAX_LIMIT);
}

/** The values of which any matches. */
export function valuesOf<T extends string | number>(wanted: OneOrMore<T>): readonly T[] {
  return typeof wanted === "object" ? wanted : [wanted];
}

/**
 * Whether a delivery is one of those that a filter means, `limit` aside. For stores that keep deliveries in memory.
 *
 * @throws TypeError when `after` is no cursor
 */
export function matchesFilter(delivery: DeliverySummary, filter: DeliveryFilter): boolean {
  const { q, since = Number.NEGATIVE_INFINITY, until = Number.POSITIVE_INFINITY, after } = filter;
  const { acceptedAt, last } = delivery;
  return (
    acceptedAt >= since &&
    acceptedAt < until &&
    (after === undefined || isAfterCursor(delivery, parseCursor(after))) &&
    COMPARED_FIELDS.every((field) => isWanted(filter[field], delivery[field])) &&
    LAST_ATTEMPT_FIELDS.every((field) => isWanted(filter[field], last?.[field])) &&
    (q === undefined || isFound(delivery, q))
  );
}

/** Whether a value is the wanted one, or one of several; any is, when none is named. */
export function isWanted(
  wanted: OneOrMore<string | number> | undefined,
  value: string | number | undefined,
): boolean {
  return wanted === undefined || (value !== undefined && valuesOf(wanted).includes(value));
}

function isFound({ id, messageId, identity, event }: DeliverySummary, q: string): boolean {
  return [id, messageId, identity].includes(q) || event?.startsWith(q) === true;
}
