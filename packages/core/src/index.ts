export { WebhookError, type WebhookErrorCode, type WebhookErrorOptions } from "./errors.ts";
export type { JsonObject, JsonValue } from "@countersign/protocol";
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
  valueAt,
  type AliasMessage,
  type Context,
  type DeleteMessage,
  type GroupMessage,
  type IdentifyMessage,
  type MessageFields,
  type MessageType,
  type PageMessage,
  type PageProperties,
  type AcceptedMessage,
  type ReceivedMessage,
  type ScreenMessage,
  type TrackMessage,
  type UnknownMessage,
  type WebhookMessage,
} from "./messages/messages.ts";
export { bodyTooLarge } from "./request/body-too-large.ts";
export { parseMessage } from "./messages/parse-message.ts";
export { toProblem, type WebhookResponse } from "./receiver/response.ts";
export {
  sign,
  verifySignature,
  type Secrets,
  type SignatureHeader,
  type SignatureResult,
  type VerifiedOver,
} from "./verification/signature.ts";
export { memoryDedupe, type Claim, type DedupeStore, type MemoryDedupeOptions } from "./dedupe/dedupe.ts";
export type { Diagnosis, DiagnosisCode } from "./verification/diagnosis.ts";
export {
  defineEvents,
  type EventDefinitions,
  type EventIssue,
  type EventSchemas,
  type InvalidEvents,
  type TrackEvent,
  type UnvalidatedEvents,
} from "./messages/events.ts";
export type { ReceiverInstrument, ReceiverObservation } from "./receiver/instrument.ts";
export type { Received } from "./receiver/received.ts";
export { createReceiver, type Receiver } from "./receiver/receiver.ts";
export type {
  ReceiverOptions,
  RejectedRequest,
  SecretFunction,
  TenantSecret,
} from "./receiver/receiver-options.ts";
export {
  bodyReadBefore,
  type EarlierRead,
  type WebhookBody,
  type WebhookHeaders,
  type WebhookRequest,
} from "./request/request.ts";
export {
  createRouter,
  type MessageOfType,
  type RouterOptions,
  type WebhookHandler,
  type WebhookRouter,
} from "./receiver/router.ts";
export { warnOfSecrets } from "./receiver/warnings.ts";
export {
  verifyWebhook,
  type AllowUnknownTypes,
  type VerifiedWebhook,
  type VerifyWebhookInput,
} from "./verification/verify-webhook.ts";
