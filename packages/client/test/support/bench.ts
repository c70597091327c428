import { Analytics, type AnalyticsOptions } from "@countersign/client";
import {
  memoryTransport,
  virtualClock,
  type MemoryTransport,
  type VirtualClock,
} from "@countersign/client/testing";

export interface Bench {
  readonly analytics: Analytics;
  readonly service: MemoryTransport;
  readonly clock: VirtualClock;
}

/** A client whose time, service, ids and jitter are the test's. */
export function createBench(options: AnalyticsOptions = {}): Bench {
  const service = memoryTransport();
  const clock = virtualClock();
  let id = 0;
  const ids = (): string => `id-${(id += 1)}`;
  const analytics = new Analytics("WRITE_KEY", {
    clock,
    transport: service,
    ids,
    random: () => 1,
    ...options,
  });
  return { analytics, service, clock };
}
