import { checkOptionNames, type OptionNames } from "@countersign/protocol";
import {
  type Attributes,
  context,
  type Context,
  type Meter,
  type MeterProvider,
  metrics,
  propagation,
  type Span,
  SpanKind,
  SpanStatusCode,
  trace,
  type Tracer,
  type TracerProvider,
} from "@opentelemetry/api";
import { WebhookError } from "./errors.ts";
import type { ReceiverInstrument } from "./receiver/instrument.ts";
import type { ReceivedMessage } from "./messages/messages.ts";
import type { Received } from "./receiver/received.ts";
import { headerValue, type WebhookHeaders } from "./request/request.ts";

export type { ReceiverInstrument } from "./receiver/instrument.ts";

/** Options of `otel()`, of the receiver and of the sender. */
export interface OtelOptions {
  /** Makes the tracer. Default: the one that is registered globally. */
  readonly tracerProvider?: TracerProvider | undefined;
  /** Makes the meter. Default: the one that is registered globally. */
  readonly meterProvider?: MeterProvider | undefined;
}

const OPTION_NAMES: OptionNames<OtelOptions> = { tracerProvider: true, meterProvider: true };
const SCOPE = "@countersign/core";
/** The buckets that OpenTelemetry advises for durations, in seconds, with steps below 5 ms: most verdicts take less. */
const BUCKETS = [0.0001, 0.0005, 0.001, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 5];

const COMMON: Attributes = {
  "messaging.system": "countersign",
  "messaging.operation.name": "receive",
  "messaging.operation.type": "receive",
};

/**
 * Reports each request to OpenTelemetry: a consumer span that ends with the verdict, its duration, and a count of messages by
 * verdict, named by the conventions for messaging. If no span is active, it continues the sender's trace (`traceparent`).
 * Handlers that run in the turn of the verdict run in its context.
 *
 * It needs `@opentelemetry/api`. A span contains no secret, no signature and no body.
 *
 * @throws TypeError when an option is unknown
 * @example
 * ```ts
 * import { otel } from "@countersign/core/otel";
 *
 * const receiver = createReceiver({ secret, instrument: otel() });
 * ```
 */
export function otel(options: OtelOptions = {}): ReceiverInstrument {
  const { tracer, meter } = telemetryOf(SCOPE, options);
  const duration = meter.createHistogram("messaging.client.operation.duration", {
    unit: "s",
    description: "Time from a request's headers to its verdict",
    advice: { explicitBucketBoundaries: BUCKETS },
  });
  const consumed = meter.createCounter("messaging.client.consumed.messages", {
    unit: "{message}",
    description: "Requests by verdict",
  });

  return {
    receive(headers) {
      const startedAt = performance.now();
      const parent = parentOf(headers);
      const span = tracer.startSpan(
        "receive webhook",
        { kind: SpanKind.CONSUMER, attributes: COMMON },
        parent,
      );
      const end = (outcome: Attributes, next: () => void): void => {
        const attributes = { ...COMMON, ...outcome };
        span.setAttributes(outcome);
        span.end();
        duration.record((performance.now() - startedAt) / 1_000, attributes);
        consumed.add(1, attributes);
        context.with(trace.setSpan(parent, span), next);
      };
      return {
        decided(received, next) {
          describe(span, received);
          end(outcomeOf(received), next);
        },
        failed(error, next) {
          if (!(error instanceof WebhookError)) span.setStatus({ code: SpanStatusCode.ERROR });
          const type = error instanceof WebhookError ? error.code : nameOf(error);
          end({ "countersign.verdict": "failed", "error.type": type }, next);
        },
      };
    },
  };
}

/** The tracer and the meter of a package. */
export interface Telemetry {
  readonly tracer: Tracer;
  readonly meter: Meter;
}

/**
 * The tracer and the meter that options of `otel()` name. The sender uses it, too.
 *
 * @param scope The name of the package that reports.
 * @throws TypeError when an option is unknown
 */
export function telemetryOf(scope: string, options: OtelOptions): Telemetry {
  checkOptionNames("otel()", options, OPTION_NAMES);
  return {
    tracer: (options.tracerProvider ?? trace).getTracer(scope),
    meter: (options.meterProvider ?? metrics).getMeter(scope),
  };
}

/** The active context; or, if no span is active, the sender's. */
function parentOf(headers: WebhookHeaders): Context {
  const active = context.active();
  if (trace.getSpan(active) !== undefined) return active;
  return propagation.extract(active, headers, {
    get: (carrier, key) => headerValue(carrier, key),
    keys: () => [],
  });
}

/** The attributes of this message alone. */
function describe(span: Span, received: Received<ReceivedMessage>): void {
  if (received.verdict === "rejected") return;
  const { message, rawBody } = received.webhook;
  span.setAttribute("countersign.message.type", message.type);
  span.setAttribute("messaging.message.body.size", rawBody.length);
  if (typeof message.messageId === "string") span.setAttribute("messaging.message.id", message.messageId);
}

/** The attributes by which requests are counted: few different values. */
function outcomeOf(received: Received<ReceivedMessage>): Attributes {
  const verdict = { "countersign.verdict": received.verdict };
  return received.verdict === "rejected" ? { ...verdict, "error.type": received.error.code } : verdict;
}

function nameOf(error: unknown): string {
  return error instanceof Error ? error.name : "unknown";
}
