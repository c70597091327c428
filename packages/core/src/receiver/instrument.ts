import type { ReceivedMessage } from "../messages/messages.ts";
import type { Received } from "./received.ts";
import type { WebhookHeaders } from "../request/request.ts";

/** Observes the verdicts of a receiver, as `otel()` of `@countersign/core/otel` does. It does not change them. */
export interface ReceiverInstrument {
  /**
   * Called when a request arrives.
   *
   * @param headers - The headers of the request, which may carry the context of the sender's trace.
   * @returns An observer of the request's end: one of its functions is called, once.
   */
  receive(headers: WebhookHeaders): ReceiverObservation;
}

/** Observes the end of one request. Each function must call `next`, which runs the app's handler or sends the response. */
export interface ReceiverObservation {
  /** The request has a verdict. */
  decided(received: Received<ReceivedMessage>, next: () => void): void;
  /** The app's own code threw, or `onError: "throw"` throws the error of a rejection. */
  failed(error: unknown, next: () => void): void;
}
