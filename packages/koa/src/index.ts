export { dispatch, verifyWebhook, type VerifyWebhookOptions, type WebhookState } from "./verify-webhook.ts";
