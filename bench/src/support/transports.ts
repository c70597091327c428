import type { AttemptResult, Transport } from "@countersign/sender";

const nothing = new Uint8Array();

/** A transport without a network: what is measured is the engine and its store. */
export function instantTransport(): Transport {
  const result: AttemptResult = { outcome: "success", status: 200, responseBody: nothing, durationMs: 0 };
  return { send: () => Promise.resolve(result), close: () => Promise.resolve() };
}

/** A transport that never answers, until it is given up. */
export function silentTransport(): Transport {
  const result: AttemptResult = {
    outcome: "network",
    code: "ERR_ABORTED",
    responseBody: nothing,
    durationMs: 0,
  };
  return {
    send: (_request, { signal }) =>
      new Promise((resolve) => signal?.addEventListener("abort", () => resolve(result))),
    close: () => Promise.resolve(),
  };
}
