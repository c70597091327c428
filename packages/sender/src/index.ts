export type { MessageType } from "@countersign/core";
export { createSender } from "./create-sender.ts";
export type {
  EngineOptions,
  SenderOptions,
  SharedSettingsOptions,
  SingleEndpointOptions,
  SourcesOptions,
} from "./engine/sender-options.ts";
export type {
  AcceptOptions,
  CallOptions,
  CloseOptions,
  DeleteOptions,
  JudgedCall,
  Receipt,
  Sender,
  SyncReceipt,
} from "./engine/sender.ts";
export type { SenderEvents } from "./engine/sender-events.ts";
export { SenderClosedError } from "./engine/sender.ts";
export { CloseError, type CloseErrorCode } from "./engine/close-error.ts";
export type { DeliveryPage, SkippedPage } from "./engine/pages.ts";
export type { ResendAll, ResendOptions, ResendProgress } from "./engine/resend-options.ts";
export type { RetriedAll, RetryAll } from "./engine/retry-options.ts";
export type { EndpointStats, FailureStreak } from "./engine/endpoint-recorder.ts";
export type { MinuteStats } from "./engine/minute-counts.ts";
export type { SenderStats } from "./engine/stats.ts";
export { INCLUDABLE_FIELDS, type CallOrigin } from "./calls/message.ts";
export { CallError, type CallErrorCode } from "./calls/call-error.ts";
export {
  type AliasCall,
  type Clock,
  type Duration,
  type GroupCall,
  type IdentifyCall,
  type PageCall,
  type ScreenCall,
  systemClock,
  type TrackCall,
} from "@countersign/protocol";
export type { Attempt, AttemptOutcome, AttemptSummary } from "./delivery/attempt.ts";
export type { Delivery, DeliveryInfo, DeliveryState, DeliverySummary } from "./delivery/delivery.ts";
export { cursorOf } from "./delivery/cursor.ts";
export type { DeliveryFilter, OneOrMore } from "./delivery/delivery-filter.ts";
export type { SkippedCall, SkippedFilter, SkipReason } from "./delivery/skipped-call.ts";
export { DEFAULT_RETRY_POLICY, type RetryPolicy } from "./delivery/retry-policy.ts";
export type {
  DestinationSettings,
  EndpointSettings,
  SenderSettings,
  SourceSettings,
} from "./settings/settings.ts";
export { defaultDestinationName } from "./settings/destination-name.ts";
export { endpointIssues } from "./settings/parse-endpoint.ts";
export { maskSettings } from "./settings/mask-settings.ts";
export { SettingsChangedError, SettingsError, type SettingsIssue } from "./settings/settings-error.ts";
export { MAX_BYTES_IN_MEMORY } from "./sqlite/byte-limits.ts";
export { looksLikeUrl } from "./sqlite/file-path.ts";
export { inTransaction } from "./sqlite/in-transaction.ts";
export { loadLibsql } from "./sqlite/load-libsql.ts";
export { makePrivateFolder } from "./sqlite/make-folder.ts";
export { LogFile } from "./sqlite/log-file.ts";
export { type MovedCounts, type MoveOptions, moveSqliteStore } from "./sqlite/move-sqlite-store.ts";
export { releaseNativeHandles } from "./sqlite/release-native-handles.ts";
export { makeFilePrivate } from "./sqlite/private-files.ts";
export { sqliteStore, type SqliteStoreOptions } from "./sqlite/sqlite-store.ts";
export { shardedStore } from "./store/sharded-store.ts";
export { StoreError, type StoreErrorCode } from "./store/store-error.ts";
export type { DeliveryStore, StoreSpace, StoreState } from "./store/delivery-store.ts";
export { type AddressPolicyOptions, assertCallable } from "./transport/address-policy.ts";
export { createTransport, type TransportOptions } from "./transport/create-transport.ts";
export { lookupCallable } from "./transport/checked-lookup.ts";
export { checkProxy, type ProxyOptions } from "./transport/proxy.ts";
export type { SenderInstrument } from "./transport/instrument.ts";
export type { AttemptRequest, AttemptResult, SendOptions, Transport } from "./transport/transport.ts";
