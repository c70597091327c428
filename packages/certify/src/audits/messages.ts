import { randomUUID } from "node:crypto";
import type { MessageType } from "@countersign/core";
import { sampleMessages } from "@countersign/core/testing";

/** The user that every audit speaks of, so that what a receiver stores of them is easy to find and to delete. */
const AUDIT_USER = "countersign-certify";

/** The event of every track message: one that no receiver has a schema for, which the audits' properties would not match. */
const AUDIT_EVENT = AUDIT_USER;

/**
 * A message that no audit has sent before: a receiver that answers repeats without processing them would otherwise
 * pass audits it never saw. A delete message has no `messageId`; there the user tells it apart.
 */
export function freshMessage(
  type: MessageType,
  fields: Readonly<Record<string, unknown>> = {},
): Record<string, unknown> {
  const sample: Record<string, unknown> = { ...sampleMessages[type] };
  const unique = `${AUDIT_USER}-${randomUUID()}`;
  if (type === "delete") return { ...sample, userId: unique, ...fields };
  if (type === "track") sample["event"] = AUDIT_EVENT;
  return { ...sample, messageId: unique, userId: AUDIT_USER, ...fields };
}

/** A message as JSON text, the way the sender writes it. */
export function freshText(type: MessageType, fields: Readonly<Record<string, unknown>> = {}): string {
  return JSON.stringify(freshMessage(type, fields));
}

/** A track message whose `properties` are spelled exactly as given, where `JSON.stringify` would spell them otherwise. */
export function trackWithProperties(json: string): string {
  return freshText("track", { properties: "@" }).replace('"@"', () => json);
}
