export type {
  Delivery,
  DeliveryProgress,
  DeliverySummary,
  DueDelivery,
  EndpointProgress,
  EndState,
  Settlement,
} from "./delivery/delivery.ts";
export type { SqliteStoreOptions } from "./sqlite/sqlite-store.ts";
export { type Cursor, cursorOf, isAfterCursor, newestFirst, parseCursor } from "./delivery/cursor.ts";
export {
  type DeliveryFilter,
  limitOf,
  matchesFilter,
  type OneOrMore,
  valuesOf,
} from "./delivery/delivery-filter.ts";
export type { SkippedCall, SkippedFilter, SkipReason } from "./delivery/skipped-call.ts";
export type {
  Acceptance,
  Accepted,
  Consumer,
  DeliveryCounts,
  DeliveryHandler,
  DeliveryStore,
  KnownTrait,
  NewCall,
  NewDelivery,
  NewMessage,
  NewMessageContent,
  RemoteEvent,
  SharedSettings,
  StoreContext,
  StoreState,
  TraitChanges,
  TraitOwner,
} from "./store/delivery-store.ts";
export { StoreError, type StoreErrorCode } from "./store/store-error.ts";
