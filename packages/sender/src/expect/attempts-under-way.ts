import { performance } from "node:perf_hooks";
import type { Transport } from "../transport/transport.ts";

/** An attempt that has no result yet. */
export interface AttemptUnderWay {
  readonly deliveryId: string | undefined;
  /** URL of the endpoint. */
  readonly endpoint: string;
  /** By `performance.now()`. */
  readonly startedAt: number;
}

/** Knows the attempts that have no result yet. Without it, an app that never answers would look like one that was never called. */
export class AttemptsUnderWay {
  readonly #attempts = new Set<AttemptUnderWay>();

  /** A transport whose attempts it knows. */
  watch(transport: Transport): Transport {
    return {
      holdBack: transport.holdBack,
      send: async (request, options) => {
        const { delivery, url: endpoint } = request;
        const attempt = { deliveryId: delivery?.id, endpoint, startedAt: performance.now() };
        this.#attempts.add(attempt);
        try {
          return await transport.send(request, options);
        } finally {
          this.#attempts.delete(attempt);
        }
      },
      close: () => transport.close(),
    };
  }

  /** Those of a delivery. */
  of(deliveryId: string): readonly AttemptUnderWay[] {
    return [...this.#attempts].filter((attempt) => attempt.deliveryId === deliveryId);
  }
}
