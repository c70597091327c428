import type { MessageType } from "@countersign/sender";

/** The seven message types, in the order of their documentation. */
export const MESSAGE_TYPES: readonly MessageType[] = [
  "track",
  "page",
  "screen",
  "identify",
  "alias",
  "group",
  "delete",
];
