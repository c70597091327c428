export {
  dispatch,
  verifyWebhook,
  type AppMessage,
  type AppMiddleware,
  type VerifyWebhookOptions,
  type WebhookMiddleware,
  type WebhookTypes,
} from "./verify-webhook.ts";
