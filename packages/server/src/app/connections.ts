import type { IncomingMessage, Server } from "node:http";
import type { Socket } from "node:net";

/**
 * Limits the connections of a server. When there are too many, it closes the one that has waited longest without finishing a
 * request: clients that dribble headers or bodies cannot keep those out that send them.
 *
 * @param max Connections at once.
 * @returns a function that closes the connections on which nothing has arrived. Browsers and load balancers open such connections
 *   ahead, and Node counts them as busy: a server that stops would wait for them.
 */
export function limitConnections(server: Server, max: number): () => void {
  /** In order of arrival; a connection is in here while its next request is not complete. */
  const waiting = new Map<string, Socket>();
  /** By peer, because a request over TLS knows another socket than the one that was accepted. */
  const open = new Map<string, Socket>();
  server.on("connection", (socket: Socket) => {
    const peer = peerOf(socket);
    open.set(peer, socket);
    waiting.set(peer, socket);
    socket.once("close", () => {
      if (open.get(peer) !== socket) return;
      open.delete(peer);
      waiting.delete(peer);
    });
    if (open.size <= max) return;
    const [longest = peer] = waiting.keys();
    const dropped = open.get(longest);
    waiting.delete(longest);
    dropped?.destroy();
  });
  server.on("request", (request, response) => {
    const peer = peerOf(request.socket);
    if (hasBody(request)) request.once("end", () => waiting.delete(peer));
    else waiting.delete(peer);
    response.once("close", () => {
      const socket = open.get(peer);
      if (socket && !socket.destroyed) waiting.set(peer, socket);
    });
  });
  return () => {
    for (const socket of open.values()) if (socket.bytesRead === 0) socket.destroy();
  };
}

function peerOf({ remoteAddress, remotePort }: Socket): string {
  return `${remoteAddress} ${remotePort}`;
}

/** Without one, a request never emits `end` while nobody reads it. */
function hasBody({ headers }: IncomingMessage): boolean {
  return headers["content-length"] !== undefined || headers["transfer-encoding"] !== undefined;
}
