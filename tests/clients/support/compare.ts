import { expect } from "vitest";
import type { ClientCall } from "./calls.ts";
import type { WireMessage } from "./wire.ts";

/** How far a client's clock and the time of sending may be apart on one machine, in milliseconds. */
const SKEW = 60_000;

/** Fields of a wire message that are about the way here, not about the user. */
const TRANSPORT_FIELDS = new Set([
  "_metadata",
  "channel",
  "integrations",
  "originalTimestamp",
  "receivedAt",
  "sentAt",
  "timestamp",
  "version",
  "writeKey",
]);

/**
 * Asserts that each call arrived once, that each field that the program gave is in it, and that each field that the client
 * wrote is forwarded as it was written, with nothing added: 0 lost, 0 changed, 0 extra.
 */
export function expectAllToArrive(
  calls: readonly ClientCall[],
  sent: readonly WireMessage[],
  received: readonly WireMessage[],
): void {
  expect(received.map(labelOf).toSorted()).toEqual(calls.map(labelOf).toSorted());
  const sentById = new Map(sent.map((message) => [message["messageId"], message]));
  expect(sentById.size).toBe(calls.length);
  for (const call of calls) {
    const message = received.find((candidate) => labelOf(candidate) === labelOf(call)) ?? {};
    expectIntent(call, message);
    expectUnchanged(sentById.get(message["messageId"]) ?? {}, message);
  }
}

/** What tells a call from the 13 others. */
function labelOf(message: object): string {
  const { type, properties, traits } = message as WireMessage & {
    properties?: { call?: number };
    traits?: { call?: number };
  };
  return `${String(type)} ${properties?.call ?? traits?.call ?? ""}`;
}

/** What the program gave is in what arrived. A client adds facts of its own to objects: its name, the page's address. */
function expectIntent(call: ClientCall, message: WireMessage): void {
  const { integrations: _, timestamp, ...given } = call;
  const wanted = call.type === "alias" ? asForwarded({ ...given }) : given;
  expect(partOf(message, wanted)).toEqual(wanted);
  expect({ call: labelOf(call), time: isTime(message["timestamp"], timestamp) }).toMatchObject({
    time: true,
  });
}

/** The members of an object that another has too, and so on within them. Anything else as it is. */
function partOf(value: unknown, like: unknown): unknown {
  if (!isRecord(value) || !isRecord(like)) return value;
  const members = Object.entries(value).filter(([name]) => name in like);
  return Object.fromEntries(members.map(([name, member]) => [name, partOf(member, like[name])]));
}

function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

function isTime(arrived: unknown, given: string | undefined): boolean {
  const time = Date.parse(String(arrived));
  if (given !== undefined) return Math.abs(time - Date.parse(given)) < SKEW;
  return Math.abs(time - Date.now()) < 60_000;
}

function expectUnchanged(sent: WireMessage, received: WireMessage): void {
  expect(withoutTransport(received)).toEqual(asForwarded(withoutTransport(sent)));
}

function withoutTransport(message: WireMessage): Record<string, unknown> {
  return Object.fromEntries(
    Object.entries(message).filter(
      ([name, value]) => !TRANSPORT_FIELDS.has(name) && value != null && value !== "",
    ),
  );
}

/** Fields that each type of message has besides the common ones (spec 2.2). */
const OWN_FIELDS: Readonly<Record<string, readonly string[]>> = {
  identify: ["traits"],
  track: ["event", "properties"],
  page: ["name", "category", "properties"],
  screen: ["name", "category", "properties"],
  group: ["groupId", "traits"],
  alias: [],
};

/** What the documented message of a wire message is: fields of other types are no part of it (spec 2.2). */
function asForwarded(sent: Record<string, unknown>): Record<string, unknown> {
  const type = String(sent["type"]);
  const own = OWN_FIELDS[type] ?? [];
  const {
    context = {},
    messageId,
    userId,
    anonymousId,
    previousId,
  } = sent as WireMessage & {
    context?: { traits?: object };
  };
  const fields = Object.fromEntries(own.map((name) => [name, sent[name] ?? defaultOf(name)]));
  if (type === "identify" && sent["traits"] === undefined) fields["traits"] = context.traits ?? {};
  return withoutTransport({
    type,
    messageId,
    userId,
    anonymousId,
    ...fields,
    ...(type === "alias" && { "User ID": userId, "Previous ID": previousId }),
    context,
  });
}

function defaultOf(field: string): object | undefined {
  return field === "traits" || field === "properties" ? {} : undefined;
}
