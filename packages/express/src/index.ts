export {
  dispatch,
  verifyWebhook,
  type AppMessage,
  type VerifyWebhookOptions,
  type WebhookMiddleware,
  type WebhookTypes,
} from "./verify-webhook.ts";
