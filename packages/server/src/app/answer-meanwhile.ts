import { once } from "node:events";
import { createServer as createHttpServer, type IncomingMessage, type ServerResponse } from "node:http";
import { createServer as createHttpsServer } from "node:https";
import { listenError } from "./listen.ts";
import type { TlsOptions } from "./server-options.ts";

/** Where a server is going to listen. */
interface Address {
  readonly host: string;
  readonly port: number;
  readonly tls?: TlsOptions | undefined;
}

/**
 * Answers 503 on a server's address while its store is being opened, which a database that is away can delay: health checks find
 * a process that lives and is not ready, and clients keep their calls.
 *
 * @throws ServerError when the port is taken, or the address cannot be listened on
 */
export async function answerMeanwhile<T>({ host, port, tls }: Address, open: () => Promise<T>): Promise<T> {
  const server = tls === undefined ? createHttpServer(answer) : createHttpsServer(tls, answer);
  try {
    await once(server.listen({ host, port }), "listening");
  } catch (error) {
    throw listenError(error, host, port);
  }
  try {
    return await open();
  } finally {
    const closed = once(server, "close");
    server.close();
    server.closeAllConnections();
    await closed;
  }
}

function answer({ url = "" }: IncomingMessage, response: ServerResponse): void {
  const [path = ""] = url.split("?");
  const [status, type, body] = answerOf(path);
  const headers = { "content-type": type, ...(status === 503 && { "retry-after": "1" }) };
  response.writeHead(status, headers).end(JSON.stringify(body));
}

function answerOf(path: string): readonly [status: number, type: string, body: object] {
  if (path === "/healthz") return [200, "application/json", { status: "ok" }];
  return path.startsWith("/api/")
    ? [503, "application/problem+json", PROBLEM]
    : [503, "application/json", NOT_READY];
}

const DETAIL = "The server waits for its store. Send the request again.";

/** Of the control API. */
const PROBLEM = { type: "about:blank", title: "Service Unavailable", status: 503, detail: DETAIL };

/** For health checks the `status`, for clients the rest. */
const NOT_READY = {
  status: "down",
  success: false,
  code: "unavailable",
  message: "The server is starting",
  detail: DETAIL,
};
