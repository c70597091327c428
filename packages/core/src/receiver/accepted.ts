import type { ReceivedMessage } from "../messages/messages.ts";
import type { Received } from "./received.ts";
import type { VerifiedWebhook } from "../verification/verify-webhook.ts";
import { debugVerdict } from "./warnings.ts";

/** The verdict on a message for which the handler must run. */
export function accepted<Message extends ReceivedMessage>(
  webhook: VerifiedWebhook<Message>,
  settle: (status: number) => Promise<void>,
): Received<Message> {
  const { message, verifiedOver, secretIndex } = webhook;
  debugVerdict("verified", message.type, ` over ${verifiedOver}, secret ${secretIndex}`);
  return { verdict: "verified", webhook, settle };
}
