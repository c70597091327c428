import { createServer as createHttpServer, type IncomingMessage } from "node:http";
import { createServer as createHttpsServer } from "node:https";
import { connect, type AddressInfo, type Socket } from "node:net";
import { once } from "node:events";
import { onTestFinished } from "vitest";
import type { Certificate } from "./certificates.ts";

/** What a proxy does with a CONNECT. */
export type Passing = (request: IncomingMessage, client: Socket, pass: () => void) => void;

/** An HTTP proxy that lives until the end of its test. */
export interface TestProxy {
  readonly url: string;
  readonly port: number;
  /** What it was asked for, in order: `shop.example:443`. */
  readonly asked: string[];
  /** The headers of what it was asked for. */
  readonly headers: IncomingMessage["headers"][];
  /** Connections of its clients that are open now. */
  readonly open: ReadonlySet<Socket>;
  /** What it connects to, by port, whatever the name: as a resolver of names that do not exist elsewhere. */
  readonly leadsTo: Map<number, number>;
}

/**
 * Connects to this machine whatever name it is asked for.
 *
 * @param passing Decides about each CONNECT. Lets it pass unless told otherwise.
 */
export async function httpProxy(
  passing: Passing = (_, __, pass) => pass(),
  certificate?: Certificate,
): Promise<TestProxy> {
  const asked: string[] = [];
  const headers: IncomingMessage["headers"][] = [];
  const leadsTo = new Map<number, number>();
  const open = new Set<Socket>();
  const server = certificate === undefined ? createHttpServer() : createHttpsServer(certificate);
  server.on(certificate === undefined ? "connection" : "secureConnection", (socket: Socket) => {
    open.add(socket);
    socket.on("error", () => {}).once("close", () => open.delete(socket));
  });
  server.on("connect", (request: IncomingMessage, client: Socket) => {
    asked.push(request.url ?? "");
    // Otherwise nobody sees that it leaves before a tunnel stands.
    client.on("end", () => client.end()).resume();
    headers.push(request.headers);
    passing(request, client, () => {
      const port = Number(request.url?.split(":").at(-1));
      const endpoint = connect(leadsTo.get(port) ?? port, "127.0.0.1", () => {
        client.write("HTTP/1.1 200 Connection established\r\n\r\n");
        client.pipe(endpoint).pipe(client);
      });
      endpoint.on("error", () => client.destroy());
      client.on("error", () => endpoint.destroy()).on("close", () => endpoint.destroy());
    });
  });
  server.on("tlsClientError", () => {});
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  onTestFinished(async () => {
    server.close();
    for (const socket of open) socket.destroy();
    await once(server, "close");
  });
  const { port } = server.address() as AddressInfo;
  const scheme = certificate === undefined ? "http" : "https";
  return { url: `${scheme}://127.0.0.1:${port}`, port, asked, headers, open, leadsTo };
}

/** Refuses with a status, as a proxy does that has a rule against it. */
export function refusing(status: string): Passing {
  return (_, client) => {
    // As many proxies do, it leaves the connection open.
    client.write(`HTTP/1.1 ${status}\r\ncontent-length: 0\r\n\r\n`);
  };
}
