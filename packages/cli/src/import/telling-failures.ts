import { isError, messageOf } from "@countersign/protocol";
import type { Transport, TransportResponse } from "@countersign/client";

/** A transport that tells why a request is tried again. The client retries for an hour and says so to nobody. */
export function tellingFailures(transport: Transport, tell: (problem: string) => void): Transport {
  return {
    async send(request) {
      try {
        const response = await transport.send(request);
        const problem = problemOf(response);
        if (problem !== undefined) tell(problem);
        return response;
      } catch (error) {
        tell(`The server does not answer: ${messageOf(rootOf(error))}.`);
        throw error;
      }
    },
  };
}

function problemOf({ status, body }: TransportResponse): string | undefined {
  if (status >= 500 || status === 408 || status === 429) return `The server answers ${status}.`;
  const isPage = status >= 200 && status < 300 && body.trimStart().startsWith("<");
  return isPage ? `A web page answers, with ${status}. Check --server.` : undefined;
}

/** fetch says "fetch failed" and keeps what happened in `cause`. */
function rootOf(error: unknown): unknown {
  return isError(error) && error.cause !== undefined ? rootOf(error.cause) : error;
}
