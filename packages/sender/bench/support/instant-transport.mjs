/** A transport without a network: what is measured is the engine and its store. */
export function instantTransport() {
  const result = { outcome: "success", status: 200, responseBody: new Uint8Array(), durationMs: 0 };
  return { send: () => Promise.resolve(result), close: () => Promise.resolve() };
}

/** A transport that never answers, until it is told to give up. */
export function silentTransport() {
  const given = { outcome: "network", code: "ERR_ABORTED", responseBody: new Uint8Array(), durationMs: 0 };
  return {
    send: (_request, { signal }) =>
      new Promise((resolve) => signal.addEventListener("abort", () => resolve(given))),
    close: () => Promise.resolve(),
  };
}
