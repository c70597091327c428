import type { IncomingMessage, Server } from "node:http";
import type { Socket } from "node:net";

/**
 * Bounds the connections of a server. When there are too many, the one goes that has waited longest without finishing a
 * request: clients that dribble headers or bodies cannot keep those out that send them.
 *
 * @param max Connections at once.
 */
export function limitConnections(server: Server, max: number): void {
  /** In order of arrival; a connection is in here while its next request is not complete. */
  const waiting = new Set<Socket>();
  let open = 0;
  server.on("connection", (socket: Socket) => {
    open += 1;
    waiting.add(socket);
    socket.once("close", () => {
      open -= 1;
      waiting.delete(socket);
    });
    if (open <= max) return;
    const [longest = socket] = waiting;
    waiting.delete(longest);
    longest.destroy();
  });
  server.on("request", (request, response) => {
    const { socket } = request;
    if (hasBody(request)) request.once("end", () => waiting.delete(socket));
    else waiting.delete(socket);
    response.once("close", () => {
      if (!socket.destroyed) waiting.add(socket);
    });
  });
}

/** Without one, a request never emits `end` while nobody reads it. */
function hasBody({ headers }: IncomingMessage): boolean {
  return headers["content-length"] !== undefined || headers["transfer-encoding"] !== undefined;
}
