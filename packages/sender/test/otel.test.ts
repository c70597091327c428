import { subscribe, unsubscribe } from "node:diagnostics_channel";
import { otel } from "@countersign/sender/otel";
import { createTestSender } from "@countersign/sender/testing";
import { context, propagation, SpanKind, SpanStatusCode, trace } from "@opentelemetry/api";
import { AsyncLocalStorageContextManager } from "@opentelemetry/context-async-hooks";
import { CompositePropagator, W3CBaggagePropagator, W3CTraceContextPropagator } from "@opentelemetry/core";
import {
  AggregationTemporality,
  InMemoryMetricExporter,
  MeterProvider,
  PeriodicExportingMetricReader,
} from "@opentelemetry/sdk-metrics";
import {
  BasicTracerProvider,
  InMemorySpanExporter,
  SimpleSpanProcessor,
} from "@opentelemetry/sdk-trace-base";
import { afterEach, beforeEach, expect, it, onTestFinished } from "vitest";

const spans = new InMemorySpanExporter();
const tracerProvider = new BasicTracerProvider({ spanProcessors: [new SimpleSpanProcessor(spans)] });
const exported = new InMemoryMetricExporter(AggregationTemporality.CUMULATIVE);
const reader = new PeriodicExportingMetricReader({ exporter: exported, exportIntervalMillis: 3_600_000 });
const meterProvider = new MeterProvider({ readers: [reader] });

beforeEach(() => {
  context.setGlobalContextManager(new AsyncLocalStorageContextManager().enable());
  propagation.setGlobalPropagator(new W3CTraceContextPropagator());
});
afterEach(() => {
  spans.reset();
  context.disable();
  propagation.disable();
});

/** A receiver that keeps the `traceparent` of its requests, and a sender that is watched. */
async function open(status: number, instrument = otel({ tracerProvider, meterProvider })) {
  const received: (string | undefined)[] = [];
  const sender = await createTestSender({
    target: (request, response) => {
      received.push(request.headers["traceparent"] as string | undefined);
      response.writeHead(status).end();
    },
    path: "/hooks?token=hidden",
    secret: "dev",
    headers: { Authorization: "Bearer hidden" },
    instrument,
  });
  onTestFinished(() => sender.close());
  return { sender, received };
}

it("each attempt is a client span by the conventions, and the receiver gets its trace", async () => {
  const { sender, received } = await open(204);
  const [delivery] = await (await sender.track({ userId: "u1", event: "Traced", messageId: "m1" })).settled();
  const [span] = spans.getFinishedSpans();
  expect(span?.name).toBe("send default/webhooks");
  expect(span?.kind).toBe(SpanKind.CLIENT);
  expect(span?.attributes).toMatchObject({
    "http.request.method": "POST",
    "http.response.status_code": 204,
    "messaging.system": "countersign",
    "messaging.message.id": "m1",
    "messaging.destination.name": "default/webhooks",
    "server.address": "127.0.0.1",
  });
  const { traceId = "", spanId = "" } = span?.spanContext() ?? {};
  expect(received).toEqual([`00-${traceId}-${spanId}-01`]);
  expect(delivery?.attempts[0]?.requestHeaders?.["traceparent"]).toBe(received[0]);
});

it("an attempt belongs to no request of the app, and the endpoint gets no request's baggage", async () => {
  propagation.setGlobalPropagator(
    new CompositePropagator({ propagators: [new W3CTraceContextPropagator(), new W3CBaggagePropagator()] }),
  );
  const tracer = tracerProvider.getTracer("app");
  const { sender } = await open(204);
  const record = async (userId: string): Promise<string> => {
    const request = tracer.startSpan(`request of ${userId}`);
    const baggage = propagation.createBaggage({ user: { value: userId } });
    const here = trace.setSpan(propagation.setBaggage(context.active(), baggage), request);
    const receipt = await context.with(here, () => sender.track({ userId, event: "Traced" }));
    request.end();
    const [delivery] = await receipt.settled();
    return delivery?.attempts[0]?.requestHeaders?.["baggage"] ?? "none";
  };
  // Recorded in one turn, they are stored in one commit: in the context of the first.
  expect(await Promise.all(["u1", "u2"].map(record))).toEqual(["none", "none"]);
  const attempts = spans.getFinishedSpans().filter(({ kind }) => kind === SpanKind.CLIENT);
  expect(attempts.map(({ parentSpanContext }) => parentSpanContext)).toEqual([undefined, undefined]);
});

/** Traces every request of undici, as `@opentelemetry/instrumentation-undici` does. */
function instrumentUndici(): void {
  const tracer = tracerProvider.getTracer("undici");
  const onCreate = (message: unknown): void => {
    const { request } = message as { request: { addHeader(name: string, value: string): void } };
    const here = context.active();
    const span = tracer.startSpan("POST", { kind: SpanKind.CLIENT }, here);
    const headers: Record<string, string> = {};
    propagation.inject(trace.setSpan(here, span), headers);
    for (const [name, value] of Object.entries(headers)) request.addHeader(name, value);
    span.end();
  };
  subscribe("undici:request:create", onCreate);
  onTestFinished(() => void unsubscribe("undici:request:create", onCreate));
}

it("automatic instrumentation adds no second traceparent, which would end the trace, and no second span", async () => {
  instrumentUndici();
  const { sender, received } = await open(204);
  await (await sender.track({ userId: "u1", event: "Traced" })).settled();
  const [span, ...others] = spans.getFinishedSpans();
  const { traceId = "", spanId = "" } = span?.spanContext() ?? {};
  expect(received).toEqual([`00-${traceId}-${spanId}-01`]);
  expect(others.map(({ name }) => name)).toEqual([]);
});

it("a span tells a failure, and holds no query, no header and no body", async () => {
  const { sender } = await open(404);
  await (await sender.track({ userId: "u1", event: "Private" })).settled();
  const [span] = spans.getFinishedSpans();
  expect(span?.attributes).toMatchObject({ "error.type": "404", "countersign.outcome": "rejected" });
  expect(span?.status.code).toBe(SpanStatusCode.ERROR);
  expect(JSON.stringify(span?.attributes)).not.toMatch(/hidden|Private|u1/);
});

it("a redirect does not bring the endpoint's query or a header into a span", async () => {
  const sender = await createTestSender({
    target: ({ url, headers }, response) => {
      response.writeHead(301, { location: `/moved${url}&echo=${headers.authorization}` }).end();
    },
    path: "/hooks?token=hidden",
    secret: "dev",
    headers: { Authorization: "Bearer hidden" },
    instrument: otel({ tracerProvider, meterProvider }),
  });
  onTestFinished(() => sender.close());
  await (await sender.track({ userId: "u1", event: "Moved" })).settled();
  const [span] = spans.getFinishedSpans();
  expect(span?.attributes).toMatchObject({ "error.type": "301", "countersign.outcome": "rejected" });
  expect(JSON.stringify([span?.attributes, span?.status, span?.events])).not.toContain("hidden");
});

it("attempts are counted, and their durations measured in seconds", async () => {
  const result = {
    outcome: "success",
    status: 204,
    durationMs: 1_500,
    responseBody: new Uint8Array(),
  } as const;
  const sender = await createTestSender({
    url: "http://measured.example/",
    transport: { send: () => Promise.resolve(result), close: () => Promise.resolve() },
    instrument: otel({ tracerProvider, meterProvider }),
  });
  onTestFinished(() => sender.close());
  await (await sender.track({ userId: "u1", event: "Measured" })).settled();
  await reader.forceFlush();
  const metrics =
    exported
      .getMetrics()
      .at(-1)
      ?.scopeMetrics.flatMap((scope) => scope.metrics) ?? [];
  const names = metrics.map(({ descriptor }) => `${descriptor.name} ${descriptor.unit}`);
  expect(names.toSorted()).toEqual([
    "http.client.request.duration s",
    "messaging.client.sent.messages {message}",
  ]);
  const points = metrics.find(({ descriptor }) => descriptor.unit === "s")?.dataPoints ?? [];
  const measured = points.filter(({ attributes }) => attributes["server.address"] === "measured.example");
  expect(measured).toMatchObject([{ value: { count: 1, sum: 1.5 } }]);
});

it("without an SDK nothing is sent along", async () => {
  const { sender, received } = await open(204, otel());
  trace.disable();
  await (await sender.track({ userId: "u1", event: "Untraced" })).settled();
  expect(received).toEqual([undefined]);
});

it("a misspelt option is refused", () => {
  expect(() => otel({ tracer: tracerProvider } as object)).toThrow(TypeError);
});
