import type { CallType } from "@countersign/protocol";

/** A message as it goes to the service. Absent fields are absent, and a page's traits are part of its properties. */
export interface Message {
  readonly type: CallType;
  messageId: string;
  /** ISO 8601 in UTC with milliseconds. */
  timestamp: string;
  userId?: string;
  anonymousId?: string;
  event?: string;
  groupId?: string;
  previousId?: string;
  name?: string;
  category?: string;
  properties?: Record<string, unknown>;
  traits?: Record<string, unknown>;
  context?: Record<string, unknown>;
  integrations?: Record<string, unknown>;
}

/** Changes a message, or drops it by returning null: see `beforeSend` of `AnalyticsOptions`. */
export type BeforeSend = (message: Message) => Message | null;
