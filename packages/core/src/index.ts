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
export {
  sign,
  verifySignature,
  type Secrets,
  type SignatureHeader,
  type SignatureResult,
  type VerifiedOver,
} from "./signature.ts";
