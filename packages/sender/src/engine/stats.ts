import type { StoreSpace } from "../store/delivery-store.ts";
import type { Source } from "../settings/parse-settings.ts";
import type { EngineParts } from "./engine.ts";
import type { EndpointStats } from "./endpoint-recorder.ts";
import type { MinuteStats } from "./minute-counts.ts";

/** The counts of a sender: its results, and the pending deliveries. */
export interface SenderStats {
  /** Each source of the settings. */
  readonly sources: readonly {
    /** Its name. */
    readonly source: string;
    /** Calls counted as usage, over the store's whole life. */
    readonly usage: number;
  }[];
  /** Deliveries that the store keeps, by state, for each destination. */
  readonly destinations: readonly {
    /** `<source>/<destination>`. */
    readonly destination: string;
    /** Whether its deliveries are being sent. */
    readonly enabled: boolean;
    /** How many wait, or are being sent. */
    readonly pending: number;
    /** How many of the kept ones an endpoint accepted. */
    readonly delivered: number;
    /** How many of them every endpoint rejected. */
    readonly failed: number;
    /** How many of them no endpoint accepted in time. */
    readonly expired: number;
    /** When the oldest pending delivery was accepted, in milliseconds since 1970. */
    readonly oldestPendingAt?: number | undefined;
    /** When the first of the pending deliveries is due, in milliseconds since 1970. */
    readonly nextDueAt?: number | undefined;
  }[];
  /** How full the store is, if it has a limit: with PostgreSQL, or a file without `maxBytes`, there is none. */
  readonly space?: StoreSpace | undefined;
  /** Each endpoint since the sender was created. */
  readonly endpoints: readonly EndpointStats[];
  /** The counts of each of the last sixty minutes, oldest first, the current one included. */
  readonly minutes: readonly MinuteStats[];
}

const NONE = { pending: 0, delivered: 0, failed: 0, expired: 0 };

/** Puts together what settings, store and recorder know. */
export async function collectStats(
  sources: readonly Source[],
  { store, recorder, minutes }: Pick<EngineParts, "store" | "recorder" | "minutes">,
): Promise<SenderStats> {
  const [counts, usage, space] = await Promise.all([store.counts(), store.usage(), store.space?.()]);
  const known = sources.flatMap((source) => source.destinations);
  const enabled = new Set(known.filter((destination) => destination.enabled).map(({ key }) => key));
  // A destination that is gone from the settings is there for as long as it has deliveries.
  const left = [...counts].filter(
    ([, { pending, delivered, failed, expired }]) => pending + delivered + failed + expired > 0,
  );
  const keys = new Set([...known.map(({ key }) => key), ...left.map(([key]) => key)]);
  return {
    sources: sources.map(({ name }) => ({ source: name, usage: usage.get(name) ?? 0 })),
    destinations: [...keys].map((key) => ({
      destination: key,
      enabled: enabled.has(key),
      ...(counts.get(key) ?? NONE),
    })),
    ...(space && { space }),
    endpoints: recorder.snapshot(),
    minutes: minutes.snapshot(),
  };
}
