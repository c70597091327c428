export {
  type Attempt,
  ATTEMPT_OUTCOMES,
  type AttemptOutcome,
  type AttemptSummary,
} from "./delivery/attempt.ts";
export { DELIVERY_STATES, END_STATES, MESSAGE_TYPES } from "./delivery/delivery.ts";
export type {
  Delivery,
  DeliveryInfo,
  DeliveryProgress,
  DeliveryState,
  DeliverySummary,
  DueDelivery,
  EndpointProgress,
  EndState,
  Settlement,
} from "./delivery/delivery.ts";
export {
  type Cursor,
  cursorOf,
  isAfterCursor,
  newestFirst,
  oldestFirst,
  parseCursor,
} from "./delivery/cursor.ts";
export {
  DEFAULT_LIMIT,
  type DeliveryFilter,
  limitOf,
  MAX_LIMIT,
  matchesFilter,
  type OneOrMore,
  valuesOf,
} from "./delivery/delivery-filter.ts";
export { firstAccepted } from "./delivery/first-accepted.ts";
export { firstRoundOf, hastenedProgress } from "./delivery/rounds.ts";
export { prefixEnd } from "./delivery/prefix-end.ts";
export {
  SKIP_REASONS,
  type SkippedCall,
  type SkippedFilter,
  type SkipReason,
} from "./delivery/skipped-call.ts";
export type {
  Acceptance,
  Accepted,
  Consumer,
  DeliveryCounts,
  DeliveryHandler,
  DeliveryStore,
  KnownTrait,
  ListOrder,
  NewCall,
  NewDelivery,
  NewMessage,
  NewMessageContent,
  NextDelivery,
  RemoteEvent,
  SharedSettings,
  StoreContext,
  StoreSpace,
  StoreState,
  TraitChanges,
} from "./store/delivery-store.ts";
export type {
  StoredDelivery,
  StoredKeys,
  StoredPart,
  StoredTrait,
  StoredUsage,
} from "./store/stored-part.ts";
export { clockWasSet, LARGEST_SKEW_MS } from "./store/set-clock.ts";
export { sourceOf } from "./store/source-of.ts";
export type { TraitOwner } from "./store/trait-owner.ts";
export { type AcceptancePart, acceptParts, splitAcceptance } from "./store/split-acceptance.ts";
export { StoreError, type StoreErrorCode } from "./store/store-error.ts";
