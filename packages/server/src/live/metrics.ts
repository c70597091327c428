import type { Sender, SenderStats, StoreSpace } from "@countersign/sender";
import { isSlow } from "@countersign/sender/explain";
import { ATTEMPT_OUTCOMES, SKIP_REASONS } from "@countersign/sender/store";
import { collectDefaultMetrics, Counter, Gauge, Histogram, Registry } from "prom-client";
import { REJECTION_REASONS, type RejectionReason, type Warning } from "../ingest/rejections.ts";
import { destinationsByKey, destinationsWithoutSettings } from "../settings/find-settings.ts";
import type { ForgeryList } from "./forgery-list.ts";
import { type KnownSeries, seriesOfDestinations, seriesOfSources } from "./known-series.ts";
import { onceAtATime } from "./once-at-a-time.ts";
import { READINESS_STATUSES, readiness } from "./readiness.ts";
import type { StoreRoom } from "./store-room.ts";

/** Bounds of response times in seconds. The last one is the budget of the spec: five seconds. */
const RESPONSE_BUCKETS = [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 3, 4, 4.5, 4.9, 5];

const ENDED = ["delivered", "failed", "expired"] as const;

const REJECTED = Object.keys(REJECTION_REASONS) as readonly RejectionReason[];

const WARNED: readonly Warning["reason"][] = ["unsafe_integer"];

/** The codes of refusals after which clients send again: each is about the server, and not about the request. */
const RETRIED = ["store_full", "unavailable", "overloaded"] as const;

/** The counters of the server, and their form for Prometheus. */
export interface Metrics {
  accepted(source: string, count: number): void;
  duplicates(source: string, count: number): void;
  rejected(reason: RejectionReason, count: number): void;
  warned(reason: Warning["reason"]): void;
  refused(code: string): void;
  /** The exposition text. */
  render(): Promise<string>;
  readonly contentType: string;
}

/** What metrics are read from. */
export interface MetricsParts {
  readonly sender: Sender;
  readonly room: StoreRoom;
  /** Which endpoints accept forgeries; a process that only delivers keeps no such list. */
  readonly forgeries?: Pick<ForgeryList, "list">;
  /** Whether this process delivers. */
  readonly delivers: boolean;
  /** How long an endpoint may take, in milliseconds (spec 7). */
  readonly budgetMs: number;
  /** The time, in milliseconds since 1970. */
  readonly now: () => number;
}

/**
 * Creates the metrics of one server, in a separate registry, so that several servers in one process do not collide.
 *
 * `withProcess`: adds memory, CPU and event loop of the whole process.
 */
export function createMetrics(
  parts: MetricsParts,
  { withProcess }: { readonly withProcess: boolean },
): Metrics {
  const { sender } = parts;
  const registry = new Registry();
  const registers = [registry];
  if (withProcess) collectDefaultMetrics({ register: registry });
  const counter = <const Labels extends string>(
    name: string,
    help: string,
    labelNames: readonly Labels[],
    known: () => Iterable<Partial<Record<Labels, string>>> = () => [],
  ) =>
    new Counter({
      name: `countersign_${name}`,
      help,
      labelNames,
      registers,
      // Prometheus sees no increase in a series that begins with what it counts: without its 0, the first of each is missed.
      collect() {
        for (const labels of known()) this.inc(labels, 0);
      },
    });
  const ofSources = seriesOfSources(sender);
  const ofDestinations = seriesOfDestinations(sender);
  const [sources, destinations] = [ofSources.inSettings, ofDestinations.inSettings];
  const ends = () => destinations().flatMap((labels) => ENDED.map((state) => ({ ...labels, state })));
  const accepted = counter(
    "calls_accepted_total",
    "Calls accepted from clients, also those that are skipped.",
    ["source"],
    sources,
  );
  const skipped = counter(
    "calls_skipped_total",
    "Calls accepted and sent to no destination, by reason.",
    ["source", "reason"],
    () => sources().flatMap((labels) => SKIP_REASONS.map((reason) => ({ ...labels, reason }))),
  );
  sender.on("skipped", ({ source, reason }) => skipped.inc({ ...ofSources.of(source), reason }));
  const duplicates = counter("calls_duplicate_total", "Calls recognised as repeats.", ["source"], sources);
  const rejected = counter("calls_rejected_total", "Messages not accepted, by reason.", ["reason"], () =>
    REJECTED.map((reason) => ({ reason })),
  );
  const warned = counter("calls_warned_total", "Calls accepted with a warning, by reason.", ["reason"], () =>
    WARNED.map((reason) => ({ reason })),
  );
  const refused = counter(
    "requests_refused_total",
    "Ingestion requests answered with an error, by code.",
    ["code"],
    () => RETRIED.map((code) => ({ code })),
  );
  const forgetDeliveries = watchDeliveries(parts, ofDestinations, registers, {
    ended: counter("deliveries_ended_total", "Deliveries that ended.", ["destination", "state"], ends),
    slow: counter(
      "responses_slow_total",
      "Responses in time that took more than four of the five seconds an endpoint has.",
      ["destination"],
      destinations,
    ),
  });
  /** What is gone from the settings would be in every scrape until the process ends. */
  const forgetRemoved = (): void => {
    for (const labels of ofSources.takeGone()) {
      for (const metric of [accepted, duplicates]) metric.remove(labels);
      for (const reason of SKIP_REASONS) skipped.remove({ ...labels, reason });
    }
    for (const labels of ofDestinations.takeGone()) forgetDeliveries(labels);
  };
  // The parts of one scrape share an answer of the store.
  const read = onceAtATime(() => sender.stats());
  watchState(parts, read, registers);
  watchSettings(sender, registers);
  watchStore(parts, read, registers);
  if (parts.forgeries) watchForgeries(parts.forgeries, destinations, registers);
  return {
    accepted: (source, count) => accepted.inc(ofSources.of(source), count),
    duplicates: (source, count) => duplicates.inc(ofSources.of(source), count),
    rejected: (reason, count) => rejected.inc({ reason }, count),
    warned: (reason) => warned.inc({ reason }),
    refused: (code) => refused.inc({ code }),
    render() {
      forgetRemoved();
      return registry.metrics();
    },
    contentType: registry.contentType,
  };
}

/** Counts what happens to deliveries. Returns what forgets the counts of a destination. */
function watchDeliveries(
  { sender, budgetMs }: MetricsParts,
  series: KnownSeries<"destination">,
  registers: Registry[],
  {
    ended,
    slow,
  }: { readonly ended: Counter<"destination" | "state">; readonly slow: Counter<"destination"> },
): (labels: { readonly destination: string }) => void {
  const responseTime = new Histogram({
    name: "countersign_response_seconds",
    help: "Time until an endpoint responded, or until the attempt failed.",
    labelNames: ["destination", "outcome"],
    buckets: RESPONSE_BUCKETS,
    registers,
  });
  // Labels are written out, for each delivery: an object that begins as a copy takes four times as long to make and to read.
  sender.on("attempt", ({ delivery: { destination }, attempt: { outcome, status, durationMs } }) => {
    series.add(destination);
    responseTime.observe({ destination, outcome }, durationMs / 1_000);
    if (status !== undefined && isSlow(durationMs, budgetMs)) slow.inc({ destination });
  });
  for (const state of ENDED) {
    sender.on(state, ({ delivery: { destination } }) => {
      series.add(destination);
      ended.inc({ destination, state });
    });
  }
  return (labels) => {
    for (const state of ENDED) ended.remove({ ...labels, state });
    for (const outcome of ATTEMPT_OUTCOMES) responseTime.remove({ ...labels, outcome });
    slow.remove(labels);
  };
}

/** Gauges of what waits and what fails, read when they are asked for. */
function watchState({ sender, now }: MetricsParts, read: ReadStats, registers: Registry[]): void {
  const gauge = (
    name: string,
    help: string,
    set: (gauge: StateGauge, stats: SenderStats) => void,
  ): StateGauge =>
    new Gauge({
      name: `countersign_${name}`,
      help,
      labelNames: ["destination", "state"],
      registers,
      async collect() {
        this.reset();
        // Without an answer of the store there is nothing to tell but that it is down.
        const stats = await read().catch(() => undefined);
        if (stats) set(this, stats);
      },
    });
  gauge("deliveries_pending", "Deliveries that wait for their next attempt.", (pending, { destinations }) => {
    for (const { destination, pending: count } of destinations) pending.set({ destination }, count);
  });
  gauge(
    "oldest_pending_seconds",
    "Age of the oldest delivery that waits; 0 when none does.",
    (age, stats) => {
      for (const { destination, oldestPendingAt } of stats.destinations) {
        age.set(
          { destination },
          oldestPendingAt === undefined ? 0 : Math.max(now() - oldestPendingAt, 0) / 1_000,
        );
      }
    },
  );
  // The counters of attempts and ends are of one process. This is the store's own count, whichever process delivers.
  gauge("deliveries_kept", "Ended deliveries that the store keeps, by state.", (kept, { destinations }) => {
    for (const { destination, ...counts } of destinations) {
      for (const state of ENDED) kept.set({ destination, state }, counts[state]);
    }
  });
  gauge(
    "failure_streak",
    "Attempts that failed in a row, of the endpoint of the destination that fails least.",
    (streak, { endpoints }) => {
      const least = new Map<string, number>();
      const known = destinationsByKey(sender.settings);
      for (const { destination, url, failures } of endpoints) {
        // The counts of an endpoint remain when its destination has another one, or has gone.
        const settings = known.get(destination);
        if (!settings?.endpoints.some((endpoint) => endpoint.url === url)) continue;
        least.set(destination, Math.min(least.get(destination) ?? failures, failures));
      }
      for (const [destination, failures] of least) streak.set({ destination }, failures);
    },
  );
}

/** Which destinations take calls. */
function watchSettings(sender: Sender, registers: Registry[]): void {
  const enabled = new Gauge({
    name: "countersign_destination_enabled",
    help: "1 when the destination is enabled; while it is 0, its deliveries wait, and no call is kept for it.",
    labelNames: ["destination"],
    registers,
    collect() {
      enabled.reset();
      for (const [destination, settings] of destinationsByKey(sender.settings))
        enabled.set({ destination }, settings.enabled === false ? 0 : 1);
    },
  });
}

/** Gauges of the store, and of what `/readyz` says, read when they are asked for. */
function watchStore({ sender, room, delivers }: MetricsParts, read: ReadStats, registers: Registry[]): void {
  const up = new Gauge({
    name: "countersign_store_up",
    help: "1 when calls can be stored, 0 when the store is down, unsafe or full.",
    registers,
    collect() {
      this.set(room.state().state === "up" ? 1 : 0);
    },
  });
  up.set(1);
  const statuses = new Gauge({
    name: "countersign_status",
    help: "1 for the status that /readyz has, 0 for the others.",
    labelNames: ["status"],
    registers,
    async collect() {
      const known = { settings: sender.settings, stats: read };
      const waiting = () => destinationsWithoutSettings(known);
      const { status } = await readiness({ waiting, room, delivers });
      for (const each of READINESS_STATUSES) this.set({ status: each }, each === status ? 1 : 0);
    },
  });
  for (const status of READINESS_STATUSES) statuses.set({ status }, 0);
  const space = (name: string, help: string, of: (space: StoreSpace) => number): Gauge =>
    new Gauge({
      name: `countersign_store_${name}_bytes`,
      help,
      registers,
      async collect() {
        // A store without a limit is not one with room for 0 bytes.
        this.remove({});
        const stats = await read().catch(() => undefined);
        if (stats?.space) this.set(of(stats.space));
      },
    });
  space(
    "used",
    "What the store takes of its limit, ended deliveries included.",
    ({ usedBytes }) => usedBytes,
  );
  space("limit", "The most that the store may take.", ({ limitBytes }) => limitBytes);
}

function watchForgeries(
  forgeries: Pick<ForgeryList, "list">,
  destinations: () => Iterable<{ readonly destination: string }>,
  registers: Registry[],
): void {
  const accepted = new Gauge({
    name: "countersign_accepted_forgeries",
    help: "Kinds of forged messages that an endpoint accepted, and was not seen to refuse since.",
    labelNames: ["destination"],
    registers,
    collect() {
      accepted.reset();
      for (const labels of destinations()) accepted.set(labels, 0);
      for (const { destination } of forgeries.list()) accepted.inc({ destination });
    },
  });
}

/** Asks the store for the counts. */
type ReadStats = () => Promise<SenderStats>;

type StateGauge = Gauge<"destination" | "state">;
