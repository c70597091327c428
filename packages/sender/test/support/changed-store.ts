import type { DeliveryStore, StoreContext } from "@countersign/sender/store";

/** A store with some methods replaced. They get the store itself, and the context that it was opened with. */
export function changedStore(
  store: DeliveryStore,
  change: (store: DeliveryStore, context: () => StoreContext) => Partial<DeliveryStore>,
): DeliveryStore {
  let context: StoreContext | undefined;
  const changed = change(store, () => {
    if (context === undefined) throw new Error("The store is not open.");
    return context;
  });
  return new Proxy(store, {
    get(target, name) {
      if (name === "open") {
        return (given: StoreContext) => {
          context = given;
          return changed.open === undefined ? target.open(given) : changed.open(given);
        };
      }
      const value: unknown = Reflect.get(changed, name) ?? Reflect.get(target, name);
      return typeof value === "function" ? value.bind(name in changed ? changed : target) : value;
    },
  });
}
