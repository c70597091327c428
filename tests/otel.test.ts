import { otel as otelReceiver } from "@countersign/core/otel";
import { verifyWebhook } from "@countersign/express";
import { verifyWebhook as verifyInKoa } from "@countersign/koa";
import { otel as otelSender } from "@countersign/sender/otel";
import { createTestSender, type Target, type TestSender } from "@countersign/sender/testing";
import { context, propagation, SpanKind, SpanStatusCode, trace } from "@opentelemetry/api";
import { AsyncLocalStorageContextManager } from "@opentelemetry/context-async-hooks";
import { W3CTraceContextPropagator } from "@opentelemetry/core";
import {
  AggregationTemporality,
  InMemoryMetricExporter,
  MeterProvider,
  PeriodicExportingMetricReader,
} from "@opentelemetry/sdk-metrics";
import {
  BasicTracerProvider,
  InMemorySpanExporter,
  type ReadableSpan,
  SimpleSpanProcessor,
} from "@opentelemetry/sdk-trace-base";
import express from "express";
import Koa from "koa";
import { afterEach, beforeEach, describe, expect, it, onTestFinished } from "vitest";

const exporter = new InMemorySpanExporter();
const tracerProvider = new BasicTracerProvider({ spanProcessors: [new SimpleSpanProcessor(exporter)] });
const exported = new InMemoryMetricExporter(AggregationTemporality.CUMULATIVE);
const reader = new PeriodicExportingMetricReader({ exporter: exported, exportIntervalMillis: 3_600_000 });
const meterProvider = new MeterProvider({ readers: [reader] });
const instrument = otelReceiver({ tracerProvider, meterProvider });

beforeEach(() => {
  context.setGlobalContextManager(new AsyncLocalStorageContextManager().enable());
  propagation.setGlobalPropagator(new W3CTraceContextPropagator());
});
afterEach(() => {
  exporter.reset();
  context.disable();
  propagation.disable();
});

function expressApp(handle: () => void): Target {
  const app = express();
  app.post("/", verifyWebhook({ secret: "dev", instrument, onRejected: () => {} }), (_request, response) => {
    handle();
    response.sendStatus(204);
  });
  return app;
}

function koaApp(handle: () => void): Target {
  const app = new Koa();
  app.use(verifyInKoa({ secret: "dev", instrument, onRejected: () => {} }));
  app.use((ctx) => {
    handle();
    ctx.status = 204;
  });
  return app;
}

async function open(target: Target): Promise<TestSender> {
  const sender = await createTestSender({
    target,
    secret: "dev",
    instrument: otelSender({ tracerProvider, meterProvider }),
  });
  onTestFinished(() => sender.close());
  return sender;
}

function spanCalled(name: string): ReadableSpan {
  const span = exporter.getFinishedSpans().find((one) => one.name === name);
  if (span === undefined) throw new Error(`no span is called ${name}`);
  return span;
}

describe("one trace, from the sender to the handler", () => {
  it("goes through Express: the handler's spans are in it, too", async () => {
    const tracer = tracerProvider.getTracer("app");
    const sender = await open(expressApp(() => tracer.startSpan("handle").end()));
    await (await sender.track({ userId: "u1", event: "Traced", messageId: "m1" })).settled();
    const [sent, received, handled] = [
      spanCalled("send default/webhooks"),
      spanCalled("receive webhook"),
      spanCalled("handle"),
    ];
    expect(received.kind).toBe(SpanKind.CONSUMER);
    expect(received.parentSpanContext?.spanId).toBe(sent.spanContext().spanId);
    expect(handled.parentSpanContext?.spanId).toBe(received.spanContext().spanId);
    expect(received.attributes).toMatchObject({
      "messaging.message.id": "m1",
      "countersign.message.type": "track",
      "countersign.verdict": "verified",
    });
  });

  it("goes through Koa", async () => {
    const sender = await open(koaApp(() => {}));
    await (await sender.track({ userId: "u1", event: "Traced" })).settled();
    const sent = spanCalled("send default/webhooks").spanContext();
    expect(spanCalled("receive webhook").spanContext().traceId).toBe(sent.traceId);
  });

  it("prefers the span that is active, such as the HTTP server's, to the sender's", async () => {
    const server = tracerProvider.getTracer("http").startSpan("POST /");
    const app = expressApp(() => {});
    const sender = await open((request, response) =>
      context.with(trace.setSpan(context.active(), server), () =>
        (app as (...given: unknown[]) => unknown)(request, response),
      ),
    );
    await (await sender.track({ userId: "u1", event: "Traced" })).settled();
    expect(spanCalled("receive webhook").parentSpanContext?.spanId).toBe(server.spanContext().spanId);
  });
});

it("a forgery is told by its code, is no error of the app, and leaks nothing", async () => {
  const sender = await open(expressApp(() => {}));
  sender.inject("bad_signature");
  await (await sender.track({ userId: "u-private", event: "Forged" })).settled();
  const { attributes, status } = spanCalled("receive webhook");
  expect(attributes).toMatchObject({
    "countersign.verdict": "rejected",
    "error.type": "ERR_SIGNATURE_MISMATCH",
  });
  expect(status.code).toBe(SpanStatusCode.UNSET);
  expect(JSON.stringify(attributes)).not.toMatch(/dev|u-private|Forged/);
});

it("verdicts are counted, and their durations measured", async () => {
  const sender = await open(expressApp(() => {}));
  await (await sender.track({ userId: "u1", event: "Counted" })).settled();
  await reader.forceFlush();
  const all =
    exported
      .getMetrics()
      .at(-1)
      ?.scopeMetrics.flatMap(({ metrics }) => metrics) ?? [];
  const consumed = all.find(({ descriptor }) => descriptor.name === "messaging.client.consumed.messages");
  const verdicts = consumed?.dataPoints.map(({ attributes }) => attributes["countersign.verdict"]);
  expect(verdicts).toContain("verified");
  expect(all.map(({ descriptor }) => descriptor.name)).toContain("messaging.client.operation.duration");
});

it("an instrument without its method, and a misspelt option, are refused when the receiver is made", () => {
  expect(() => verifyWebhook({ secret: "dev", instrument: {} as never })).toThrow(/instrument/);
  expect(() => otelReceiver({ tracer: tracerProvider } as object)).toThrow(TypeError);
});
