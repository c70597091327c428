import type { ReceivedMessage } from "./messages.ts";
import type { Received } from "./received.ts";
import type { WebhookHeaders } from "./request.ts";

/** Watches what a receiver decides, such as `otel()` of `@countersign/core/otel` does. It changes no verdict. */
export interface ReceiverInstrument {
  /**
   * Called when a request arrives.
   *
   * @param headers - The headers of the request, which may carry the context of the sender's trace.
   * @returns Gets to know how it ended: one of its functions is called, once.
   */
  receive(headers: WebhookHeaders): ReceiverObservation;
}

/** Is told how one request ended. Each function must call `next`, which runs the app's handler or sends the response. */
export interface ReceiverObservation {
  /** There is a verdict. */
  decided(received: Received<ReceivedMessage>, next: () => void): void;
  /** The app's own code threw, or `onError: "throw"` throws the error of a rejection. */
  failed(error: unknown, next: () => void): void;
}
