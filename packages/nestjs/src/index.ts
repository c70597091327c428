export {
  CountersignModule,
  type CountersignModuleAsyncOptions,
  type CountersignModuleExtras,
  type CountersignModuleOptions,
  type NestRequest,
} from "./countersign-module.ts";
export {
  dispatch,
  VerifyWebhook,
  Webhook,
  type AppMessage,
  type AppWebhook,
  type TypedParameter,
  type WebhookTypes,
} from "./decorators.ts";
export { WebhookException, WebhookExceptionFilter } from "./webhook-exception.ts";
export { WebhookGuard } from "./webhook-guard.ts";
