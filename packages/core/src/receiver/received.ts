import type { WebhookError } from "../errors.ts";
import type { ReceivedMessage, WebhookMessage } from "../messages/messages.ts";
import type { WebhookResponse } from "./response.ts";
import type { VerifiedWebhook } from "../verification/verify-webhook.ts";

/** The verdict on a request. Where the handler must not run, it carries the response. */
export type Received<Message extends ReceivedMessage = WebhookMessage> =
  | {
      /** Authentic and well formed: run the handler, then call `settle`. */
      readonly verdict: "verified";
      readonly webhook: VerifiedWebhook<Message>;
      /**
       * Tells the dedupe store how the app answered: a 2xx status commits the delivery, any other releases it. Without a
       * store it does nothing. It never rejects: the app has answered, and must not seem to have failed because its store
       * did. If the store fails, the claim expires, and Node, Bun and Deno emit a process warning, `COUNTERSIGN_DEDUPE`.
       */
      readonly settle: (status: number) => Promise<void>;
    }
  | {
      /** Authentic, and handled before: send `response`, a 200. */
      readonly verdict: "duplicate";
      readonly webhook: VerifiedWebhook<Message>;
      readonly response: WebhookResponse;
    }
  | {
      /** Rejected: send `response`, a problem document. */
      readonly verdict: "rejected";
      readonly error: WebhookError;
      readonly response: WebhookResponse;
    };
