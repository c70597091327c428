import { codeOf, connectionMessageOf, isError } from "@countersign/protocol";
import type { Transport, TransportResponse } from "@countersign/client";

/** Who is told about requests that failed. */
export interface Failures {
  /** It is tried again. */
  readonly retried: (problem: string) => void;
  /** It would fail in the same way for ever. */
  readonly final: (problem: string) => void;
}

/** What Node's `fetch` says of a port that web pages must not call (Fetch Standard, "bad port"), without an attempt. */
const FORBIDDEN_PORT = "bad port";

/** A transport that tells why a request failed. The client retries for an hour and says so to nobody. */
export function tellingFailures(transport: Transport, { retried, final }: Failures): Transport {
  return {
    async send(request) {
      try {
        const response = await transport.send(request);
        const problem = problemOf(response);
        if (problem !== undefined) retried(problem);
        return response;
      } catch (error) {
        const root = rootOf(error);
        const message = connectionMessageOf(root);
        if (message === FORBIDDEN_PORT) final(forbiddenPort(request.url));
        else retried(`The server does not answer: ${message}.${authorityHint(root)}`);
        throw error;
      }
    },
  };
}

const UNKNOWN_AUTHORITY = /^(?:DEPTH_ZERO_)?SELF_SIGNED_CERT|^UNABLE_TO_(?:VERIFY_LEAF|GET_ISSUER)/u;

function authorityHint(error: unknown): string {
  if (!UNKNOWN_AUTHORITY.test(codeOf(error) ?? "")) return "";
  return " If its certificate is self-signed or of a private authority, name the file to trust in the variable NODE_EXTRA_CA_CERTS.";
}

function forbiddenPort(url: string): string {
  return `Node's fetch does not call port ${new URL(url).port}, which the web reserves for another protocol. Have the server listen on another port, and pass it with --server.`;
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
