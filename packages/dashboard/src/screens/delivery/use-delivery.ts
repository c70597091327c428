import { useState } from "preact/hooks";
import { ApiError, get, messageOf } from "../../data/api.ts";
import { list } from "../../data/app-state.ts";
import { useLive } from "../../parts/hooks.ts";
import type { DeliveryDetail } from "../../shapes/types.ts";

/** A delivery that is shown, and kept current. */
export interface Shown {
  readonly delivery?: DeliveryDetail;
  readonly error?: string;
}

const AGAIN_MS = 150;

/** Reads a delivery, and reads it again when something happens to it. */
export function useDelivery(id: string | undefined): Shown {
  const [shown, setShown] = useState<Shown>({});
  useLive(
    async (gone) => {
      if (id === undefined) return;
      try {
        const delivery = await get<DeliveryDetail>(`/deliveries/${encodeURIComponent(id)}`, {}, gone);
        if (!gone.aborted) setShown({ delivery });
      } catch (error) {
        if (gone.aborted) return;
        // What is shown stays, with what is typed into it, unless the delivery has gone.
        const hasGone = error instanceof ApiError && error.status === 404;
        if (hasGone && list.find(id)) list.outdate();
        setShown((now) => (now.delivery?.id === id && !hasGone ? now : { error: messageOf(error) }));
      }
    },
    // What can change any delivery, or what is said of it.
    ["store", "settings", "cleared", id],
    AGAIN_MS,
    [id],
  );
  return shown;
}
