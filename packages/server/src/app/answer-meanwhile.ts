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
  const [path] = url.split("?");
  const isAlive = path === "/healthz";
  const headers = { "content-type": "application/json", ...(!isAlive && { "retry-after": "1" }) };
  response
    .writeHead(isAlive ? 200 : 503, headers)
    .end(JSON.stringify(isAlive ? { status: "ok" } : NOT_READY));
}

/** For health checks the `status`, for clients the rest. */
const NOT_READY = {
  status: "down",
  success: false,
  code: "unavailable",
  message: "The server is starting",
  detail: "It waits for its store. Send the request again.",
};
