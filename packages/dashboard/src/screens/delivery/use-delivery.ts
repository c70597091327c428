import { useEffect, useState } from "preact/hooks";
import { ApiError, get, messageOf } from "../../data/api.ts";
import { onEvent } from "../../data/app-state.ts";
import type { DeliveryDetail, LiveEvent } from "../../shapes/types.ts";

/** A delivery that is shown, and kept current. */
export interface Shown {
  readonly delivery?: DeliveryDetail;
  readonly error?: string;
}

const AGAIN_MS = 150;

/** Reads a delivery, and reads it again when something happens to it. */
export function useDelivery(id: string | undefined): Shown {
  const [shown, setShown] = useState<Shown>({});
  useEffect(() => {
    if (id === undefined) return undefined;
    const abort = new AbortController();
    let timer: ReturnType<typeof setTimeout> | undefined;
    const read = async (): Promise<void> => {
      timer = undefined;
      try {
        const delivery = await get<DeliveryDetail>(`/deliveries/${encodeURIComponent(id)}`, {}, abort.signal);
        if (!abort.signal.aborted) setShown({ delivery });
      } catch (error) {
        if (abort.signal.aborted) return;
        const gone = error instanceof ApiError && error.status === 404;
        // While the server is away, what is shown stays.
        if (gone || !(error instanceof ApiError && error.status === 0)) setShown({ error: messageOf(error) });
      }
    };
    const stop = onEvent((event) => {
      if (isAbout(event, id)) timer ??= setTimeout(() => void read(), AGAIN_MS);
    });
    void read();
    return () => {
      abort.abort();
      clearTimeout(timer);
      stop();
    };
  }, [id]);
  return shown;
}

function isAbout(event: LiveEvent, id: string): boolean {
  if (event.event === "reset") return true;
  return "delivery" in event && event.delivery.id === id;
}
