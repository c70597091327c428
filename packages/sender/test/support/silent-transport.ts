import type { AttemptResult, Transport } from "@countersign/sender";

/** A transport that never answers, until it is told to give up. */
export function silentTransport(): Transport {
  const given: AttemptResult = {
    outcome: "network",
    code: "ERR_ABORTED",
    responseBody: new Uint8Array(),
    durationMs: 0,
  };
  return {
    send: (_request, { signal }) =>
      new Promise((resolve) => {
        signal?.addEventListener("abort", () => resolve(given));
      }),
    close: () => Promise.resolve(),
  };
}
