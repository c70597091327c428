import type { AttemptRequest, AttemptResult, Transport } from "./transport.ts";

/** Observes the attempts of a sender, as `otel()` of `@countersign/sender/otel` does. */
export interface SenderInstrument {
  /**
   * Makes one attempt: calls `send` once, with the request or with a copy that has more headers, and resolves to its result.
   * The signature is over the body, so more headers do not change it.
   */
  attempt(
    request: AttemptRequest,
    send: (request: AttemptRequest) => Promise<AttemptResult>,
  ): Promise<AttemptResult>;
}

/** A transport whose attempts are watched. */
export function instrumented(transport: Transport, instrument: SenderInstrument | undefined): Transport {
  if (instrument === undefined) return transport;
  return {
    send: (request, options) => instrument.attempt(request, (sent) => transport.send(sent, options)),
    holdBack: transport.holdBack?.bind(transport),
    close: () => transport.close(),
  };
}
