export { createSender } from "./create-sender.ts";
export type {
  EngineOptions,
  SenderOptions,
  SingleEndpointOptions,
  SourcesOptions,
  TargetOptions,
} from "./sender-options.ts";
export type {
  CloseOptions,
  DeleteOptions,
  FaultScope,
  InjectedFault,
  Receipt,
  Sender,
  SenderEvents,
  SkipReason,
  SyncReceipt,
} from "./sender.ts";
export { SenderClosedError } from "./sender-closed-error.ts";
export type {
  AliasCall,
  CallOptions,
  Calls,
  CommonFields,
  Fields,
  GroupCall,
  IdentifyCall,
  PageCall,
  ScreenCall,
  TrackCall,
} from "./calls/calls.ts";
export { CallError, type CallErrorCode } from "./calls/call-error.ts";
export type { Clock, ScheduledTask } from "./clock/clock.ts";
export type { Duration } from "./clock/duration.ts";
export { systemClock } from "./clock/system-clock.ts";
export { virtualClock, type VirtualClock } from "./clock/virtual-clock.ts";
export type { Attempt } from "./delivery/attempt.ts";
export type {
  Delivery,
  DeliveryFilter,
  DeliveryInfo,
  DeliveryState,
  EndState,
  MessageType,
} from "./delivery/delivery.ts";
export {
  defaultRetryPolicy,
  nextRetryAt,
  type RetryInput,
  type RetryPolicy,
} from "./delivery/retry-policy.ts";
export type {
  Expect,
  Expectation,
  Expected,
  ExpectedAttempt,
  ExpectedDelivery,
  ExpectOptions,
  MessagePattern,
  ReceiptLike,
} from "./expect/expect.ts";
export { ExpectationError } from "./expect/expectation-error.ts";
export { STALE_SECRET } from "./faults/apply-fault.ts";
export { type Fault, faults, isFault } from "./faults/fault.ts";
export type {
  DestinationSettings,
  EndpointSettings,
  SenderSettings,
  SourceSettings,
} from "./settings/settings.ts";
export { SettingsError, type SettingsIssue } from "./settings/settings-error.ts";
export { sqliteStore, type SqliteStoreOptions } from "./sqlite/sqlite-store.ts";
export type {
  DestinationStats,
  EndpointStats,
  ResponseTimes,
  SenderStats,
  SourceStats,
} from "./stats/sender-stats.ts";
export type {
  Acceptance,
  Consumer,
  DeliveryCounts,
  DeliveryHandler,
  DeliveryProgress,
  DeliveryStore,
  DueDelivery,
  EndpointProgress,
  NewDelivery,
  NewMessage,
  Settlement,
  StoreContext,
  TraitChanges,
} from "./store/delivery-store.ts";
export { StoreError, type StoreErrorCode } from "./store/store-error.ts";
export type { FastifyTarget, FetchTarget, KoaTarget, NodeTarget, Target } from "./target/target.ts";
export { createTransport, type TransportOptions } from "./transport/create-transport.ts";
export type {
  AttemptOutcome,
  AttemptRequest,
  AttemptResult,
  SendOptions,
  Transport,
} from "./transport/transport.ts";
