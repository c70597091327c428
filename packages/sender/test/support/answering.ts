import type { AttemptResult, Transport } from "@countersign/sender";

/** A transport that answers at once, with what it is told to. */
export function answering(answer: { status: number }): Transport {
  return {
    send: () => {
      const { status } = answer;
      const outcome = status < 300 ? "success" : status < 500 ? "rejected" : "server_error";
      return Promise.resolve<AttemptResult>({
        outcome,
        status,
        durationMs: 1,
        responseBody: new Uint8Array(),
      });
    },
    close: () => Promise.resolve(),
  };
}
