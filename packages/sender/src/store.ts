export type {
  DeliveryProgress,
  DueDelivery,
  EndpointProgress,
  EndState,
  Settlement,
} from "./delivery/delivery.ts";
export type { SqliteStoreOptions } from "./sqlite/sqlite-store.ts";
export type {
  Acceptance,
  Consumer,
  DeliveryCounts,
  DeliveryHandler,
  DeliveryStore,
  KnownTrait,
  NewDelivery,
  NewMessage,
  StoreContext,
  TraitChanges,
  TraitOwner,
} from "./store/delivery-store.ts";
export { StoreError, type StoreErrorCode } from "./store/store-error.ts";
