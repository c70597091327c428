export {
  dispatch,
  verifyWebhook,
  type AppMessage,
  type VerifyWebhookOptions,
  type WebhookState,
  type WebhookTypes,
} from "./verify-webhook.ts";
