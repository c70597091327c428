import { once } from "node:events";
import { createServer, request, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import { createServer as createTlsServer, request as tlsRequest } from "node:https";
import type { AddressInfo } from "node:net";
import { gunzipSync } from "node:zlib";

/** A message as a client wrote it, with what its batch says for all of its messages. */
export type WireMessage = Readonly<Record<string, unknown>>;

/** Stands between a client and the server, and keeps what the client sends. */
export interface Wire {
  readonly url: string;
  /** The messages of requests that were answered 200, in order. */
  readonly messages: readonly WireMessage[];
  /** `METHOD path: status` of each request. */
  readonly log: readonly string[];
  /** Headers of each request that is not a preflight, by their names. */
  readonly headers: readonly IncomingMessage["headers"][];
  /** Statuses to answer instead of asking the server, used up from the front. Preflights pass. */
  readonly answers: { readonly status: number; readonly headers?: Record<string, string> }[];
  close(): Promise<void>;
}

/** A certificate and its key in PEM. */
export interface Tls {
  readonly cert: string;
  readonly key: string;
}

/** Forwards each request unchanged to the server at `target`; with `tls`, both sides speak TLS with the same certificate. */
export async function openWire(target: string, tls?: Tls): Promise<Wire> {
  const messages: WireMessage[] = [];
  const log: string[] = [];
  const headers: IncomingMessage["headers"][] = [];
  const answers: Wire["answers"] = [];

  async function pass(incoming: IncomingMessage, response: ServerResponse): Promise<void> {
    const body = await bodyOf(incoming);
    if (incoming.method !== "OPTIONS") headers.push(incoming.headers);
    const instead = incoming.method === "POST" ? answers.shift() : undefined;
    const answer = instead ?? (await forward(target, incoming, body, tls?.cert));
    log.push(`${incoming.method} ${incoming.url}: ${answer.status}`);
    if (incoming.method === "POST" && answer.status === 200) messages.push(...messagesOf(incoming, body));
    // As the server answers: without it a browser hides the status from the page.
    const open = { "access-control-allow-origin": "*", "access-control-expose-headers": "Retry-After" };
    response.writeHead(answer.status, instead ? { ...open, ...instead.headers } : answer.headers);
    response.end("body" in answer ? answer.body : "{}");
  }

  const listener = (incoming: IncomingMessage, response: ServerResponse): void =>
    void pass(incoming, response);
  const server = tls ? createTlsServer(tls, listener) : createServer(listener);
  const url = await listen(server);
  return {
    url: tls ? url.replace("http:", "https:") : url,
    messages,
    log,
    headers,
    answers,
    close: () => close(server),
  };
}

/** Listens on a free port of this machine. */
export async function listen(server: Server): Promise<string> {
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}

/** Ends a server with every connection that a client keeps open. */
export async function close(server: Server): Promise<void> {
  server.closeAllConnections();
  server.close();
  await once(server, "close");
}

/** The whole body of a request or response. */
export async function bodyOf(message: IncomingMessage): Promise<Buffer> {
  const chunks: Buffer[] = [];
  for await (const chunk of message) chunks.push(chunk as Buffer);
  return Buffer.concat(chunks);
}

interface Answer {
  readonly status: number;
  readonly headers: IncomingMessage["headers"];
  readonly body: Buffer;
}

async function forward(
  target: string,
  incoming: IncomingMessage,
  body: Buffer,
  ca: string | undefined,
): Promise<Answer> {
  const { port, hostname } = new URL(target);
  const { method, url: path } = incoming;
  const headers = { ...incoming.headers, "content-length": String(body.length) };
  delete (headers as IncomingMessage["headers"])["transfer-encoding"];
  const options = { hostname, port, method, path, headers, agent: false };
  const outgoing = ca === undefined ? request(options) : tlsRequest({ ...options, ca });
  outgoing.end(body);
  const [answer] = (await once(outgoing, "response")) as [IncomingMessage];
  const content = await bodyOf(answer);
  return {
    status: answer.statusCode ?? 0,
    headers: { ...answer.headers, connection: "close" },
    body: content,
  };
}

function messagesOf(incoming: IncomingMessage, body: Buffer): WireMessage[] {
  const plain = incoming.headers["content-encoding"] === "gzip" ? gunzipSync(body) : body;
  const { batch, ...envelope } = JSON.parse(plain.toString()) as { batch?: WireMessage[] } & WireMessage;
  if (batch === undefined) return [envelope];
  return batch.map((message) => ({
    ...message,
    ...(envelope["context"] !== undefined && {
      context: { ...(envelope["context"] as object), ...(message["context"] as object) },
    }),
  }));
}
