import type { Sender } from "@countersign/sender";
import { collectDefaultMetrics, Counter, Gauge, Histogram, Registry } from "prom-client";

/** Bounds of response times in seconds. The last one is the budget of the spec: five seconds. */
const RESPONSE_BUCKETS = [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5];

/** What the server counts, and how Prometheus reads it. */
export interface Metrics {
  accepted(source: string, count: number): void;
  duplicates(source: string, count: number): void;
  rejected(reason: string): void;
  warned(reason: string): void;
  refused(code: string): void;
  /** The exposition text. */
  render(): Promise<string>;
  readonly contentType: string;
}

/**
 * Creates the metrics of one server, in a separate registry, so that several servers in one process do not collide.
 *
 * @param withProcess Add memory, CPU and event loop of the whole process.
 */
export function createMetrics(sender: Sender, withProcess: boolean): Metrics {
  const registers = [new Registry()];
  const [registry] = registers as [Registry];
  if (withProcess) collectDefaultMetrics({ register: registry });
  const counter = <const Labels extends string>(name: string, help: string, labelNames: readonly Labels[]) =>
    new Counter({ name: `countersign_${name}`, help, labelNames, registers });
  const accepted = counter("calls_accepted_total", "Calls stored for forwarding.", ["source"]);
  const duplicates = counter("calls_duplicate_total", "Calls recognised as repeats.", ["source"]);
  const rejected = counter("calls_rejected_total", "Messages not accepted, by reason.", ["reason"]);
  const warned = counter("calls_warned_total", "Calls accepted with a warning, by reason.", ["reason"]);
  const refused = counter("requests_refused_total", "Ingestion requests answered with an error, by code.", [
    "code",
  ]);
  watchDeliveries(
    sender,
    registers,
    counter("deliveries_ended_total", "Deliveries that ended.", ["destination", "state"]),
  );
  return {
    accepted: (source, count) => accepted.inc({ source }, count),
    duplicates: (source, count) => duplicates.inc({ source }, count),
    rejected: (reason) => rejected.inc({ reason }),
    warned: (reason) => warned.inc({ reason }),
    refused: (code) => refused.inc({ code }),
    render: () => registry.metrics(),
    contentType: registry.contentType,
  };
}

function watchDeliveries(
  sender: Sender,
  registers: Registry[],
  ended: Counter<"destination" | "state">,
): void {
  const responseTime = new Histogram({
    name: "countersign_response_seconds",
    help: "Time until an endpoint responded, or until the attempt failed.",
    labelNames: ["destination", "outcome"],
    buckets: RESPONSE_BUCKETS,
    registers,
  });
  sender.on("attempt", ({ delivery, attempt }) =>
    responseTime.observe(
      { destination: delivery.destination, outcome: attempt.outcome },
      attempt.durationMs / 1_000,
    ),
  );
  for (const state of ["delivered", "failed", "expired"] as const) {
    sender.on(state, ({ delivery }) => ended.inc({ destination: delivery.destination, state }));
  }
  const pending: Gauge<"destination"> = new Gauge({
    name: "countersign_deliveries_pending",
    help: "Deliveries that wait for their next attempt.",
    labelNames: ["destination"],
    registers,
    async collect() {
      const { destinations } = await sender.stats();
      pending.reset();
      for (const { destination, pending: count } of destinations) pending.set({ destination }, count);
    },
  });
}
