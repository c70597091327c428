export {
  dispatch,
  verifyWebhook,
  webhookHandler,
  type FetchHandler,
  type VerifyWebhookOptions,
  type WebhookHandler,
  type WebhookHandlerOptions,
} from "./verify-webhook.ts";
export type { HandlerOptions } from "./handler-options.ts";
