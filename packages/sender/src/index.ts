export { createSender } from "./create-sender.ts";
export type {
  EngineOptions,
  SenderOptions,
  SingleEndpointOptions,
  SourcesOptions,
} from "./engine/sender-options.ts";
export type {
  CloseOptions,
  DeleteOptions,
  Receipt,
  Sender,
  SenderEvents,
  SkipReason,
  SyncReceipt,
} from "./engine/sender.ts";
export { SenderClosedError } from "./engine/sender.ts";
export type {
  DestinationStats,
  EndpointStats,
  ResponseTimes,
  SenderStats,
  SourceStats,
} from "./engine/stats.ts";
export type {
  AliasCall,
  CallOptions,
  GroupCall,
  IdentifyCall,
  PageCall,
  ScreenCall,
  TrackCall,
} from "./calls/calls.ts";
export { CallError, type CallErrorCode } from "./calls/call-error.ts";
export { type Clock, type Duration, systemClock } from "@countersign/protocol";
export type { Attempt, AttemptOutcome } from "./delivery/attempt.ts";
export type {
  Delivery,
  DeliveryFilter,
  DeliveryInfo,
  DeliveryState,
  MessageType,
} from "./delivery/delivery.ts";
export {
  defaultRetryPolicy,
  nextRetryAt,
  type RetryInput,
  type RetryPolicy,
} from "./delivery/retry-policy.ts";
export type {
  DestinationSettings,
  EndpointSettings,
  SenderSettings,
  SourceSettings,
} from "./settings/settings.ts";
export { SettingsError, type SettingsIssue } from "./settings/settings-error.ts";
export { sqliteStore } from "./sqlite/sqlite-store.ts";
export type { DeliveryStore } from "./store/delivery-store.ts";
export { StoreError, type StoreErrorCode } from "./store/store-error.ts";
export { createTransport, type TransportOptions } from "./transport/create-transport.ts";
export type { AttemptRequest, AttemptResult, SendOptions, Transport } from "./transport/transport.ts";
