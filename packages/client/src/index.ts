export type {
  AliasCall,
  CallRule,
  CallType,
  Clock,
  CommonFields,
  GroupCall,
  IdentifyCall,
  Identity,
  PageCall,
  PageProperties,
  ScheduledTask,
  ScreenCall,
  TrackCall,
} from "@countersign/protocol";
export { ValidationError } from "@countersign/protocol";
export { Analytics } from "./analytics.ts";
export type {
  DefinedTrackCall,
  EventDefinitions,
  EventSchemas,
  StandardSchema,
  TrackCallOf,
} from "./events.ts";
export type { Log } from "./log.ts";
export type { BeforeSend, Message } from "./message.ts";
export type { WhenFull } from "./queue/message-queue.ts";
export type { AnalyticsOptions } from "./options.ts";
export type {
  Counts,
  Delivered,
  Dropped,
  DropReason,
  Outcome,
  Rejected,
  RejectionReason,
  Undelivered,
} from "./outcome.ts";
export type { Receipt } from "./receipt.ts";
export type { RetryOptions } from "./wire/retry.ts";
export { fetchTransport } from "./wire/transport.ts";
export type { Transport, TransportRequest, TransportResponse } from "./wire/transport.ts";
export { VERSION } from "./version.ts";
