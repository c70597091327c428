import { codeOf } from "@countersign/protocol";
import { closeSync, openSync, readFileSync } from "node:fs";
import type { IncomingMessage, Server } from "node:http";
import type { Socket } from "node:net";
import { devNull } from "node:os";

/** Requests of a connection that wait for the answer to another one before them. No client library sends one ahead. */
const MAX_PIPELINED = 100;

const NO_FILES =
  "Almost no file descriptors are left, so connections are closed to make room for others and for deliveries. Raise the limit of open files, as with ulimit -n 65536, or lower --max-connections.";

/** Of the files that a process may have open, the part that is left to its own, such as connections to endpoints; and the most of it. */
const [OWN_SHARE, MOST_OWN] = [0.25, 256];

/**
 * Limits the connections of a server, and the requests that one sends ahead: a hundred bytes are several kilobytes in memory until
 * they are answered. When there are too many, it closes the one whose client has been awaited for longest, to
 * finish a request or to take a response: clients that dribble headers or bodies, or read nothing, cannot keep others out.
 * There are also too many when the process has few files left that it may open. Without any, Node would close what comes next, and
 * tell nobody, and no endpoint could be called.
 *
 * @param max Connections at once.
 * @param onError Is told when the process can open no more files.
 * @returns a function that closes the connections on which nothing has arrived. Browsers and load balancers open such connections
 *   ahead, and Node counts them as busy: a server that stops would wait for them.
 */
export function limitConnections(
  server: Server,
  max: number,
  onError: (error: Error) => void = () => {},
): () => void {
  /** In order of arrival; a connection is in here from the end of its last response until its next request is complete. */
  const waiting = new Map<string, Socket>();
  /** By peer, because a request over TLS knows another socket than the one that was accepted. */
  const open = new Map<string, Socket>();
  const mostFiles = filesForConnections();
  const pipelined = new WeakMap<Socket, number>();
  const addPipelined = (socket: Socket, more: number): number => {
    const count = (pipelined.get(socket) ?? 0) + more;
    pipelined.set(socket, count);
    return count;
  };
  server.on("connection", (socket: Socket) => {
    const peer = peerOf(socket);
    open.set(peer, socket);
    waiting.set(peer, socket);
    socket.once("close", () => {
      if (open.get(peer) !== socket) return;
      open.delete(peer);
      waiting.delete(peer);
    });
    const lacksFiles = !canOpenAnother(mostFiles);
    if (lacksFiles) onError(new Error(NO_FILES));
    if (open.size <= max && !lacksFiles) return;
    const [longest = peer] = waiting.keys();
    const dropped = open.get(longest);
    waiting.delete(longest);
    dropped?.destroy();
  });
  server.on("request", (request, response) => {
    // It has no socket while an earlier response of its connection is unfinished, which may be because the client does not read it.
    if (response.socket === null) {
      const { socket } = request;
      response.once("socket", () => void addPipelined(socket, -1));
      if (addPipelined(socket, 1) > MAX_PIPELINED) socket.destroy();
      return;
    }
    const peer = peerOf(request.socket);
    const awaitClient = (): void => {
      const socket = open.get(peer);
      if (socket && !socket.destroyed) waiting.set(peer, socket);
    };
    if (!hasBody(request)) waiting.delete(peer);
    // What is left of a body that nobody wanted is dropped after the response.
    else request.once("end", () => response.writableEnded || waiting.delete(peer));
    // When the response is written, and not when it is sent: nothing ends the wait for a client that does not read it.
    if (response.writableEnded) awaitClient();
    else response.once("prefinish", awaitClient);
  });
  return () => {
    for (const socket of open.values()) if (socket.bytesRead === 0) socket.destroy();
  };
}

/** How many files may be open before connections are closed. Only Linux says what the limit of a process is. */
function filesForConnections(): number {
  try {
    const limits = readFileSync("/proc/self/limits", "latin1");
    const limit = Number(/^Max open files +(\d+)/m.exec(limits)?.[1] ?? Number.POSITIVE_INFINITY);
    return limit - Math.min(limit * OWN_SHARE, MOST_OWN);
  } catch {
    return Number.POSITIVE_INFINITY;
  }
}

/** Whether the process, and the machine, can have one more file open for a connection. */
function canOpenAnother(most: number): boolean {
  try {
    const descriptor = openSync(devNull, "r");
    closeSync(descriptor);
    // On Linux, it is the lowest number that is free: so many are open.
    return descriptor < most;
  } catch (error) {
    return !["EMFILE", "ENFILE"].includes(codeOf(error) ?? "");
  }
}

function peerOf({ remoteAddress, remotePort }: Socket): string {
  return `${remoteAddress} ${remotePort}`;
}

/** Without one, a request never emits `end` while nobody reads it. */
function hasBody({ headers }: IncomingMessage): boolean {
  return headers["content-length"] !== undefined || headers["transfer-encoding"] !== undefined;
}
