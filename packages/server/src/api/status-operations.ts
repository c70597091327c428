import { roundedMs } from "@countersign/protocol";
import type { SenderStats } from "@countersign/sender";
import { FAULTS } from "@countersign/sender/faults";
import { reachabilityOf } from "../live/reachability.ts";
import { destinationsByKey } from "../settings/find-settings.ts";
import { attemptSummaryJson } from "../shapes/delivery-shapes.ts";
import { iso } from "../shapes/times.ts";
import { Problem } from "./problem.ts";
import { ref, type ApiContext, type Operation } from "./operation.ts";

/** The state of the server and its endpoints. */
export const statusOperations: readonly Operation[] = [
  {
    method: "GET",
    path: "/status",
    id: "getStatus",
    summary:
      "The version and run of this server, its clock, where it keeps deliveries, and the state of the store.",
    description:
      "`budgetMs` is how long an endpoint may take, and `retryWindowMs` how long after its acceptance a delivery is tried. `faults` can be injected, and `certify` says whether audits can run.",
    answer: { status: 200, schema: ref("Status") },
    handle: statusJson,
  },
  {
    method: "GET",
    path: "/stats",
    id: "getStats",
    summary:
      "Ended and pending deliveries: by source, by destination, by endpoint with response times, and by minute for the last hour; and the endpoints that accept forged messages.",
    description: "The deliveries of a destination with `configured: false` wait until it has settings again.",
    answer: { status: 200, schema: ref("Stats") },
    handle: async (context) => statsJson(await context.sender.stats(), context),
  },
  {
    method: "GET",
    path: "/reachability",
    id: "getReachability",
    summary: "Whether something listens at each endpoint: opens a connection and sends nothing.",
    description: "What listens may reject messages all the same: audits find that out.",
    answer: { status: 200, schema: { type: "array", items: ref("Reachability") } },
    errors: { 409: "The server may not call private networks, or has a proxy." },
    handle({ sender, info }) {
      if (info.onlyDeliveriesConnect !== undefined) throw new Problem(409, info.onlyDeliveriesConnect);
      return reachabilityOf(sender.settings);
    },
  },
];

function statusJson({ info, events, now, room, virtualClock }: ApiContext): object {
  return {
    version: info.version,
    run: events.log.run,
    startedAt: info.startedAt,
    now: iso(now()),
    clock: virtualClock ? "virtual" : "system",
    delivers: info.delivers,
    kept: info.kept,
    store: room.state(),
    budgetMs: info.budgetMs,
    retryWindowMs: info.retryWindowMs,
    recording: info.recording,
    faults: [...FAULTS, "rate_limit"],
    certify: info.onlyDeliveriesConnect === undefined,
  };
}

function statsJson(stats: SenderStats, { sender, forgeries }: ApiContext): object {
  const known = destinationsByKey(sender.settings);
  return {
    sources: stats.sources,
    destinations: stats.destinations.map(({ oldestPendingAt, nextDueAt, ...destination }) => ({
      ...destination,
      ...(oldestPendingAt !== undefined && { oldestPendingAt: iso(oldestPendingAt) }),
      ...(nextDueAt !== undefined && { nextDueAt: iso(nextDueAt) }),
      configured: known.has(destination.destination),
    })),
    ...(stats.space && { space: stats.space }),
    endpoints: stats.endpoints.map(({ failingSince, lastFailure, responseTimes, ...endpoint }) => ({
      ...endpoint,
      ...(failingSince !== undefined && { failingSince: iso(failingSince) }),
      ...(lastFailure && { lastFailure: attemptSummaryJson(lastFailure) }),
      responseTimes: { ...responseTimes, sumMs: roundedMs(responseTimes.sumMs) },
    })),
    forgeries: forgeries.list(),
    minutes: stats.minutes.map(({ at, ...counts }) => ({ at: iso(at), ...counts })),
  };
}
