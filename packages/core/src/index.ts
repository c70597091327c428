export { WebhookError, type WebhookErrorCode, type WebhookErrorOptions } from "./errors.ts";
export type { JsonObject, JsonValue } from "./json.ts";
export {
  aliasIdentity,
  assertNever,
  isAlias,
  isDelete,
  isGroup,
  isIdentify,
  isMessage,
  isPage,
  isScreen,
  isTrack,
  type AliasMessage,
  type Context,
  type ContextGroup,
  type DeleteMessage,
  type GroupMessage,
  type IdentifyMessage,
  type MessageFields,
  type MessageType,
  type PageMessage,
  type PageProperties,
  type ScreenMessage,
  type TrackMessage,
  type UnknownMessage,
  type WebhookMessage,
} from "./messages.ts";
export { parseMessage } from "./parse-message.ts";
export { toProblem, type ProblemResponse } from "./problem.ts";
export { readStream } from "./read-stream.ts";
export { requestBody } from "./request-body.ts";
export {
  sign,
  verifySignature,
  type Secrets,
  type SignatureHeader,
  type SignatureResult,
  type VerifiedOver,
} from "./signature.ts";
export { memoryDedupe, type Claim, type DedupeStore, type MemoryDedupeOptions } from "./dedupe.ts";
export { diagnose, type DiagnoseInput, type Diagnosis, type DiagnosisCode } from "./diagnose.ts";
export { defineEvents, type EventDefinitions, type EventSchemas, type TrackEvent } from "./events.ts";
export { createReceiver, type Received, type Receiver } from "./receiver.ts";
export type { ReceiverOptions, RejectedRequest, SecretFunction } from "./receiver-options.ts";
export {
  bodyReadBefore,
  bodyTooLarge,
  type EarlierRead,
  type WebhookBody,
  type WebhookHeaders,
  type WebhookRequest,
} from "./request.ts";
export { createRouter, type MessageOfType, type WebhookHandler, type WebhookRouter } from "./router.ts";
export {
  verifyWebhook,
  type ReceivedMessage,
  type VerifiedWebhook,
  type VerifyWebhookInput,
} from "./verify-webhook.ts";
