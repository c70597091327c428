import { once } from "node:events";
import { createServer as createHttpServer, type IncomingMessage, type ServerResponse } from "node:http";
import { createServer as createHttpsServer } from "node:https";
import { createServer as createTcpServer, type AddressInfo, type Server, type Socket } from "node:net";
import type { TlsOptions } from "node:tls";
import { buffer } from "node:stream/consumers";
import { onTestFinished } from "vitest";
import type { Certificate } from "./certificates.ts";

/** A request as an endpoint saw it. */
export interface SeenRequest {
  readonly method: string;
  readonly path: string;
  readonly headers: IncomingMessage["headers"];
  readonly body: Buffer;
}

/** An endpoint that lives until the end of its test. */
export interface Endpoint {
  readonly url: string;
  readonly port: number;
  /** Requests whose body has come in full. */
  readonly requests: SeenRequest[];
  /** Requests whose headers have come. */
  readonly begun: SeenRequest[];
  /** How many connections were opened to it. */
  connections(): number;
  /** Connections open now. */
  readonly open: ReadonlySet<Socket>;
  close(): Promise<void>;
}

export type Answer = (request: SeenRequest, response: ServerResponse) => void;

/** An HTTP endpoint; over TLS when given a certificate. Answers 204 unless told. */
export async function httpEndpoint(
  answer: Answer = (_, response) => response.writeHead(204).end(),
  certificate?: Certificate & TlsOptions,
): Promise<Endpoint> {
  const requests: SeenRequest[] = [];
  const begun: SeenRequest[] = [];
  const listener = (message: IncomingMessage, response: ServerResponse): void => {
    const head = { method: message.method ?? "", path: message.url ?? "", headers: message.headers };
    begun.push({ ...head, body: Buffer.alloc(0) });
    buffer(message).then(
      (body) => {
        const request = { ...head, body };
        requests.push(request);
        answer(request, response);
      },
      () => response.destroy(),
    );
  };
  const server =
    certificate === undefined ? createHttpServer(listener) : createHttpsServer(certificate, listener);
  // An idle connection is there for as long as the sender keeps it, also on a machine that has other work.
  server.keepAliveTimeout = 60_000;
  const listening = await listen(server);
  return {
    ...listening,
    url: `${certificate === undefined ? "http" : "https"}://127.0.0.1:${listening.port}/`,
    requests,
    begun,
  };
}

/** A TCP endpoint that does as it likes with each connection. */
export async function rawEndpoint(
  onConnection: (socket: Socket) => void,
  options: { readonly allowHalfOpen?: boolean } = {},
): Promise<Endpoint> {
  const server = createTcpServer(options, (socket) => {
    socket.on("error", () => {});
    onConnection(socket);
    // Unread bytes would hide that the other side has closed.
    socket.resume();
  });
  const listening = await listen(server);
  return { ...listening, url: `http://127.0.0.1:${listening.port}/`, requests: [], begun: [] };
}

/** Calls back once a connection has sent a whole request head. */
export function afterHead(socket: Socket, act: () => void): void {
  let head = "";
  const onData = (chunk: Buffer): void => {
    head += chunk.toString("latin1");
    if (head.includes("\r\n\r\n")) {
      socket.off("data", onData).resume();
      act();
    }
  };
  socket.on("data", onData);
}

async function listen(server: Server): Promise<Pick<Endpoint, "port" | "connections" | "open" | "close">> {
  const open = new Set<Socket>();
  let connections = 0;
  server.on("connection", (socket) => {
    connections += 1;
    open.add(socket);
    socket.once("close", () => open.delete(socket));
  });
  server.on("tlsClientError", () => {});
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const close = async (): Promise<void> => {
    if (server.listening) {
      server.close();
      for (const socket of open) {
        socket.destroy();
      }
      await once(server, "close");
    }
  };
  onTestFinished(close);
  const address = server.address() as AddressInfo;
  return { port: address.port, connections: () => connections, open, close };
}
