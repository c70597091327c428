import { type OtelOptions, telemetryOf } from "@countersign/core/otel";
import {
  type Attributes,
  context,
  createContextKey,
  propagation,
  ROOT_CONTEXT,
  type Span,
  SpanKind,
  SpanStatusCode,
  trace,
} from "@opentelemetry/api";
import { isError } from "@countersign/protocol";
import type { SenderInstrument } from "../transport/instrument.ts";
import type { AttemptRequest, AttemptResult } from "../transport/transport.ts";

const SCOPE = "@countersign/sender";
/** The buckets that OpenTelemetry advises for durations of HTTP requests, in seconds. The service waits 5 s. */
const BUCKETS = [0.005, 0.01, 0.025, 0.05, 0.075, 0.1, 0.25, 0.5, 0.75, 1, 2.5, 4, 5];

/** The key of `suppressTracing()` in `@opentelemetry/core`, by its description: an equal description makes an equal key. */
const SUPPRESS_TRACING = createContextKey("OpenTelemetry SDK Context Key SUPPRESS_TRACING");

/**
 * Reports each attempt to OpenTelemetry: a client span, the duration of its request, and a count of messages sent, named by
 * the conventions for messaging and HTTP. Also sends the trace's context, in the headers of the registered propagator
 * (`traceparent`), so that the receiver's spans belong to the same trace.
 *
 * It needs `@opentelemetry/api`. Without a registered SDK it does nothing, and costs almost nothing.
 *
 * @throws TypeError when an option is unknown
 * @example
 * ```ts
 * import { otel } from "@countersign/sender/otel";
 *
 * const sender = await createSender({ url, secret: "secret", instrument: otel() });
 * ```
 */
export function otel(options: OtelOptions = {}): SenderInstrument {
  const { tracer, meter } = telemetryOf(SCOPE, options);
  const duration = meter.createHistogram("http.client.request.duration", {
    unit: "s",
    description: "Duration of attempts",
    advice: { explicitBucketBoundaries: BUCKETS },
  });
  const sent = meter.createCounter("messaging.client.sent.messages", {
    unit: "{message}",
    description: "Attempts to deliver a message",
  });

  return {
    async attempt(request, send) {
      const place = placeOf(request);
      // A trace of its own: an attempt belongs to no request of the app, and the endpoint must not get a request's baggage.
      const span = tracer.startSpan(
        `send ${request.delivery?.destination ?? "webhook"}`,
        { kind: SpanKind.CLIENT, attributes: { ...place, ...detailsOf(request) } },
        ROOT_CONTEXT,
      );
      const inSpan = trace.setSpan(ROOT_CONTEXT, span);
      const headers = { ...request.headers };
      propagation.inject(inSpan, headers);
      // This span stands for the request. Automatic instrumentation would add a second span, which has the query, and a second
      // `traceparent`: with two of them, a receiver ignores both.
      const onWire = inSpan.setValue(SUPPRESS_TRACING, true);
      try {
        const result = await context.with(onWire, send, undefined, { ...request, headers });
        const outcome = outcomeOf(result);
        end(span, outcome, result);
        duration.record(result.durationMs / 1_000, { ...place, ...outcome });
        sent.add(1, { ...place, ...outcome });
        return result;
      } catch (error) {
        end(span, { "error.type": isError(error) ? error.name : "unknown" });
        throw error;
      }
    },
  };
}

/** The attributes by which attempts are grouped: few different values. */
function placeOf({ url, delivery }: AttemptRequest): Attributes {
  const { hostname, port, protocol } = new URL(url);
  return {
    "http.request.method": "POST",
    "server.address": hostname,
    "server.port": port === "" ? (protocol === "https:" ? 443 : 80) : Number(port),
    "messaging.system": "countersign",
    "messaging.operation.name": "send",
    "messaging.operation.type": "send",
    ...(delivery && { "messaging.destination.name": delivery.destination }),
  };
}

/** The attributes of this attempt alone. Never a header or the body. */
function detailsOf({ url, body, delivery, fault }: AttemptRequest): Attributes {
  const { origin, pathname } = new URL(url);
  return {
    // A query may hold a credential.
    "url.full": origin + pathname,
    "messaging.message.body.size": body.length,
    ...(delivery && {
      "messaging.message.id": delivery.messageId,
      "countersign.delivery.id": delivery.id,
      "countersign.message.type": delivery.type,
    }),
    ...(fault !== undefined && { "countersign.fault": fault }),
  };
}

function outcomeOf({ outcome, status, code }: AttemptResult): Attributes {
  return {
    ...(status !== undefined && { "http.response.status_code": status }),
    ...(outcome !== "success" && { "error.type": status === undefined ? (code ?? outcome) : String(status) }),
  };
}

function end(span: Span, outcome: Attributes, result?: AttemptResult): void {
  span.setAttributes(outcome);
  if (result !== undefined) span.setAttribute("countersign.outcome", result.outcome);
  // What a message says of a response is the endpoint's own text: a redirect often repeats the query.
  const message = result?.status === undefined ? result?.message : undefined;
  if ("error.type" in outcome)
    span.setStatus({ code: SpanStatusCode.ERROR, ...(message !== undefined && { message }) });
  span.end();
}
