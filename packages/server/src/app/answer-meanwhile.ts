import { once } from "node:events";
import { createServer as createHttpServer, type IncomingMessage, type ServerResponse } from "node:http";
import { createServer as createHttpsServer } from "node:https";
import { isForClients } from "../broken-request.ts";
import { headersForPages, headersOfPreflight } from "../ingest/cors.ts";
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

function answer({ url = "", method, headers: given }: IncomingMessage, response: ServerResponse): void {
  const [path = ""] = url.split("?");
  const forPages = isForClients(path) ? headersForPages(given.origin) : {};
  if (isForClients(path) && method === "OPTIONS") {
    response.writeHead(204, { ...forPages, ...headersOfPreflight(given) }).end();
    return;
  }
  const [status, type, body] = answerOf(path);
  const headers = { "content-type": type, ...(status === 503 && { "retry-after": "1" }), ...forPages };
  response.writeHead(status, headers).end(JSON.stringify(body));
}

function answerOf(path: string): readonly [status: number, type: string, body: object] {
  if (path === "/healthz") return [200, "application/json", { status: "ok" }];
  if (path.startsWith("/api/")) return [503, "application/problem+json", PROBLEM];
  return [503, "application/json", isForClients(path) ? UNAVAILABLE : NOT_READY];
}

const DETAIL = "The server waits for its store. Send the request again.";

/** Of the control API. */
const PROBLEM = { type: "about:blank", title: "Service Unavailable", status: 503, detail: DETAIL };

/** Of the ingestion API. */
const UNAVAILABLE = {
  success: false,
  code: "unavailable",
  message: "The server is starting",
  detail: DETAIL,
};

/** Of what health checks ask for. */
const NOT_READY = { status: "down", ...UNAVAILABLE };
