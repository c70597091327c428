import { sqliteStore } from "@countersign/sender";
import { type DeliveryStore, StoreError } from "@countersign/sender/store";
import { changedStore } from "../../../sender/test/support/changed-store.ts";

/** Makes stores that share their settings, and nothing else. */
export function storedSettings(): () => DeliveryStore {
  let kept: { readonly version: number; readonly text: string } | undefined;
  const listeners = new Set<(version: number) => void>();
  const settings: DeliveryStore["settings"] = {
    get: async () => kept,
    async put(before, text) {
      if (before !== (kept?.version ?? 0)) throw new StoreError("ERR_STORE_CHANGED", "They have changed.");
      const version = before + 1;
      kept = { version, text };
      for (const listener of listeners) listener(version);
      return version;
    },
    watch(listener) {
      listeners.add(listener);
      return () => void listeners.delete(listener);
    },
  };
  return () => changedStore(sqliteStore(), () => ({ settings }));
}
