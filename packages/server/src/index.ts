export { createServer } from "./app/create-server.ts";
export {
  createHealthServer,
  type HealthServer,
  type HealthServerOptions,
} from "./app/create-health-server.ts";
export type { CloseOptions, ControlAnswer, ControlMethod, CountersignServer } from "./app/server.ts";
export { ServerOptionsError, type ServerOptions, type TlsOptions } from "./app/server-options.ts";
export { ServerError, type ServerErrorCode } from "./errors/server-error.ts";
export {
  destinationsWithoutSettings,
  namedDestinations,
  withoutSettingsLine,
  type DestinationStats,
  type NamedDestination,
} from "./settings/find-settings.ts";
export { savedSources } from "./settings/settings-book.ts";
export type { HelloEvent, LiveEvent, ResetEvent } from "./live/live-event.ts";
export type {
  AttemptEventJson,
  AttemptSummaryJson,
  DeliveryJson,
  SkippedJson,
} from "./shapes/delivery-shapes.ts";
export type { FaultJson } from "./shapes/fault-shapes.ts";
export {
  REJECTION_REASONS,
  type Rejection,
  type RejectionReason,
  type Warning,
} from "./ingest/rejections.ts";
