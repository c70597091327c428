export {
  dispatch,
  verifyWebhook,
  type AppMessage,
  type VerifyWebhookOptions,
  type WebhookTypes,
} from "./verify-webhook.ts";
