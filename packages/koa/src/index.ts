export {
  dispatch,
  verifyWebhook,
  type VerifyWebhookOptions,
  type WebhookMiddleware,
} from "./verify-webhook.ts";
