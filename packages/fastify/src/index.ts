export { dispatch, verifyWebhook, type VerifyWebhookOptions, type WebhookTypes } from "./verify-webhook.ts";
