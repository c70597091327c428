import type { SenderStats } from "@countersign/sender";
import { isSlow } from "@countersign/sender/explain";
import { ATTEMPT_OUTCOMES, END_STATES, SKIP_REASONS } from "@countersign/sender/store";
import { collectDefaultMetrics, Counter, Histogram, Registry } from "prom-client";
import { REFUSALS } from "../ingest/refusal.ts";
import { REJECTION_REASONS, type RejectionReason, type Warning } from "../ingest/rejections.ts";
import { exposition } from "./exposition.ts";
import { onceAtATime } from "./once-at-a-time.ts";
import { type KnownSeries, seriesOfDestinations, seriesOfSources } from "./known-series.ts";
import { addStateGauges, type StateParts } from "./state-gauges.ts";

/** Bounds of response times in seconds. The last one is the budget of the spec: five seconds. */
const RESPONSE_BUCKETS = [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 3, 4, 4.5, 4.9, 5];

const REJECTED = Object.keys(REJECTION_REASONS) as readonly RejectionReason[];

const WARNED: readonly Warning["reason"][] = ["unsafe_integer"];

/** The codes of refusals after which clients send again: each is about the server, and not about the request. */
const RETRIED = Object.entries(REFUSALS).flatMap(([code, { status }]) => (status === 503 ? code : []));

/** The counters of the server, and their form for Prometheus. */
export interface Metrics {
  accepted(source: string, count: number): void;
  duplicates(source: string, count: number): void;
  rejected(reason: RejectionReason, count: number): void;
  warned(reason: Warning["reason"]): void;
  refused(code: string): void;
  /** The exposition text. */
  render(): Promise<Buffer>;
  readonly contentType: string;
}

/** What metrics are read from. */
export interface MetricsParts extends StateParts {
  /** How long an endpoint may take, in milliseconds (spec 7). */
  readonly budgetMs: number;
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
    known: readonly Record<Labels, string>[] = [],
  ) =>
    new Counter({
      name: `countersign_${name}`,
      help,
      labelNames,
      registers,
      collect() {
        for (const labels of known) this.inc(labels, 0);
      },
    });
  const ofSources = seriesOfSources(sender);
  const ofDestinations = seriesOfDestinations(sender);
  const accepted = counter(
    "calls_accepted_total",
    "Calls accepted from clients, also those that are skipped.",
    ["source"],
  );
  const skipped = counter("calls_skipped_total", "Calls accepted and sent to no destination, by reason.", [
    "source",
    "reason",
  ]);
  sender.on("skipped", ({ source, reason }) => skipped.inc({ ...ofSources.of(source), reason }));
  const duplicates = counter("calls_duplicate_total", "Calls recognised as repeats.", ["source"]);
  const rejected = counter(
    "calls_rejected_total",
    "Messages not accepted, by reason.",
    ["reason"],
    REJECTED.map((reason) => ({ reason })),
  );
  const warned = counter(
    "calls_warned_total",
    "Calls accepted with a warning, by reason.",
    ["reason"],
    WARNED.map((reason) => ({ reason })),
  );
  const refused = counter(
    "requests_refused_total",
    "Ingestion requests answered with an error, by code.",
    ["code"],
    RETRIED.map((code) => ({ code })),
  );
  const deliveries = watchDeliveries(parts, ofDestinations, registers, {
    ended: counter("deliveries_ended_total", "Deliveries that ended.", ["destination", "state"]),
    slow: counter(
      "responses_slow_total",
      "Responses in time that took more than four of the five seconds an endpoint has.",
      ["destination"],
    ),
  });
  /**
   * Prometheus sees no increase in a series that begins with what it counts: without its 0, the first of each is missed. And what is
   * gone from the settings would be in every scrape until the process ends.
   */
  const followSettings = (): void => {
    const [sources, destinations] = [ofSources.takeChanges(), ofDestinations.takeChanges()];
    for (const labels of sources.gone) {
      for (const metric of [accepted, duplicates]) metric.remove(labels);
      for (const reason of SKIP_REASONS) skipped.remove({ ...labels, reason });
    }
    for (const labels of sources.added) {
      for (const metric of [accepted, duplicates]) metric.inc(labels, 0);
      for (const reason of SKIP_REASONS) skipped.inc({ ...labels, reason }, 0);
    }
    for (const labels of destinations.gone) deliveries.forget(labels);
    for (const labels of destinations.added) deliveries.begin(labels);
  };
  /** The parts of one scrape share an answer of the store. */
  let stats: Promise<SenderStats> | undefined;
  addStateGauges(parts, () => (stats ??= sender.stats()), registers);
  return {
    accepted: (source, count) => accepted.inc(ofSources.of(source), count),
    duplicates: (source, count) => duplicates.inc(ofSources.of(source), count),
    rejected: (reason, count) => rejected.inc({ reason }, count),
    warned: (reason) => warned.inc({ reason }),
    refused: (code) => refused.inc({ code }),
    // Two scrapes at the same time are one: each would ask the store anew under the other.
    render: onceAtATime(() => {
      stats = undefined;
      followSettings();
      return exposition(registry);
    }),
    contentType: registry.contentType,
  };
}

/** The series of what happens to the deliveries of a destination. */
interface DeliverySeries {
  begin(labels: { readonly destination: string }): void;
  forget(labels: { readonly destination: string }): void;
}

/** Counts what happens to deliveries. */
function watchDeliveries(
  { sender, budgetMs }: MetricsParts,
  series: KnownSeries<"destination">,
  registers: Registry[],
  {
    ended,
    slow,
  }: { readonly ended: Counter<"destination" | "state">; readonly slow: Counter<"destination"> },
): DeliverySeries {
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
  for (const state of END_STATES) {
    sender.on(state, ({ delivery: { destination } }) => {
      series.add(destination);
      ended.inc({ destination, state });
    });
  }
  return {
    begin(labels) {
      for (const state of END_STATES) ended.inc({ ...labels, state }, 0);
      slow.inc(labels, 0);
    },
    forget(labels) {
      for (const state of END_STATES) ended.remove({ ...labels, state });
      for (const outcome of ATTEMPT_OUTCOMES) responseTime.remove({ ...labels, outcome });
      slow.remove(labels);
    },
  };
}
