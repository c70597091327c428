import type { Source } from "../settings/parse-settings.ts";
import type { ResponseTimeRecorder } from "../stats/response-time-recorder.ts";
import type { SenderStats } from "../stats/sender-stats.ts";
import type { DeliveryStore } from "../store/delivery-store.ts";

const none = { pending: 0, delivered: 0, failed: 0, expired: 0 };

/** Puts together what settings, store and recorder know. */
export async function collectStats(
  sources: readonly Source[],
  store: DeliveryStore,
  recorder: ResponseTimeRecorder,
): Promise<SenderStats> {
  const [counts, usage] = await Promise.all([store.counts(), store.usage()]);
  const known = sources.flatMap((source) => source.destinations);
  const enabled = new Set(known.filter((destination) => destination.enabled).map(({ key }) => key));
  // A destination that is gone from the settings still has what waits for it.
  const keys = new Set([...known.map(({ key }) => key), ...counts.keys()]);
  return {
    sources: sources.map(({ name }) => ({ source: name, usage: usage.get(name) ?? 0 })),
    destinations: [...keys].map((key) => ({
      destination: key,
      enabled: enabled.has(key),
      ...(counts.get(key) ?? none),
    })),
    endpoints: recorder.snapshot(),
  };
}
