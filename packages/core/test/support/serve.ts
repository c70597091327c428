import { once } from "node:events";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import { connect, type AddressInfo, type Socket } from "node:net";
import { cleanUp } from "../../../../tests/support/resources.ts";

/** A real server on a port of its own until the test ends. */
export async function serve(
  handler: (request: IncomingMessage, response: ServerResponse) => void,
): Promise<{ url: string; port: number }> {
  const server = createServer(handler).listen(0, "127.0.0.1");
  await once(server, "listening");
  cleanUp(async () => {
    server.closeAllConnections();
    server.close();
    await once(server, "close");
  });
  const { port } = server.address() as AddressInfo;
  return { url: `http://127.0.0.1:${port}/`, port };
}

/** A connection on which a request's head was written; the body is the test's to write. */
export async function openRequest(
  port: number,
  headers: Readonly<Record<string, string>>,
  path = "/",
): Promise<Socket> {
  const socket = connect(port, "127.0.0.1");
  // What a server does to a client that it has refused is no failure of the test.
  socket.on("error", () => {});
  cleanUp(async () => {
    if (socket.closed) return;
    socket.destroy();
    await once(socket, "close");
  });
  await once(socket, "connect");
  const lines = Object.entries({ host: "127.0.0.1", ...headers }).map(([name, value]) => `${name}: ${value}`);
  socket.write([`POST ${path} HTTP/1.1`, ...lines, "", ""].join("\r\n"));
  return socket;
}

/** What one handled request came to: a promise, and the handler that keeps it. */
export function outcomeOf<T>(run: (request: IncomingMessage, response: ServerResponse) => Promise<T>): {
  handler: (request: IncomingMessage, response: ServerResponse) => void;
  outcome: Promise<T>;
} {
  let settle: (value: T | Promise<T>) => void;
  const outcome = new Promise<T>((resolve) => {
    settle = resolve;
  });
  return {
    outcome,
    handler: (request, response) => {
      const running = run(request, response);
      settle(running);
      const answer = (): void => void response.end();
      running.then(answer, answer);
    },
  };
}
