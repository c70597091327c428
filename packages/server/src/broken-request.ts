import type { Duplex } from "node:stream";

/** How a request is answered for which no route is looked up, by its code: the status, and the message. */
export const BROKEN_REQUESTS = {
  malformed_request: { status: 400, message: "Bad Request" },
  malformed_url: { status: 400, message: "Malformed URL" },
  request_timeout: { status: 408, message: "Request Timeout" },
  headers_too_large: { status: 431, message: "Request Header Fields Too Large" },
} as const;

/** What Node says of some of them. */
const CODES: Readonly<Record<string, keyof typeof BROKEN_REQUESTS>> = {
  HPE_HEADER_OVERFLOW: "headers_too_large",
  ERR_HTTP_REQUEST_TIMEOUT: "request_timeout",
};

/** Who is told of a client that speaks a known protocol other than HTTP. */
export interface BrokenRequestOptions {
  /** Receives an error that says what to do. */
  readonly onError: (error: Error) => void;
  /** How else to let in a client that speaks TLS, if the server can speak it: the end of the advice to use `http:`. Default: nothing. */
  readonly orTls?: string | undefined;
}

/**
 * Answers what is not HTTP, or too slow or too large to be read as such, before any route is known: in the shape of the
 * ingestion API, whose clients crash on an error without a `code`. A listener of `clientError`.
 *
 * @param error What Node's HTTP server says of the connection.
 * @param socket The connection, which is then closed.
 * @param options Who is told of another protocol.
 * @example
 * ```ts
 * import { createServer } from "node:http";
 *
 * const server = createServer((_request, response) => response.writeHead(204).end());
 * server.on("clientError", (error, socket) => answerBrokenRequest(error, socket, { onError: (told) => console.warn(told.message) }));
 * ```
 */
export function answerBrokenRequest(
  error: NodeJS.ErrnoException,
  socket: Duplex,
  { onError, orTls = "" }: BrokenRequestOptions,
): void {
  const protocol = otherProtocol(error, orTls);
  if (protocol !== undefined) onError(new Error(protocol));
  if (error.code === "ECONNRESET" || !socket.writable) {
    socket.destroy();
    return;
  }
  const code = CODES[error.code ?? ""] ?? "malformed_request";
  const { status, message } = BROKEN_REQUESTS[code];
  const body = JSON.stringify({ success: false, code, message });
  const head = `HTTP/1.1 ${status} ${message}\r\nContent-Type: application/json\r\nContent-Length: ${body.length}\r\nConnection: close\r\n\r\n`;
  socket.end(head + body, () => socket.destroy());
}

/** Whether a path is one of the ingestion API, whose clients read an error of their own form. */
export function isForClients(path: string): boolean {
  return /^\/+v1(?:\/|$)/u.test(path);
}

const TLS_EXPECTED = "A client used TLS, but the server does not. Configure the client with an http: address";

const PROXY_PROTOCOL =
  "A load balancer sent a header of the PROXY protocol, which the server does not read, so each of its requests is answered 400. Turn it off there: in HAProxy, leave out send-proxy; in a cloud, it is a setting of the load balancer or of its target group.";

const HTTP_2 =
  "A client or a load balancer used HTTP/2 without having asked for it, and the server speaks HTTP/1.1. Set HTTP/1.1 there: in HAProxy, leave out proto h2; in a cloud, it is the protocol version of the target group, or HTTP/2 end-to-end.";

/** The first byte of TLS. */
const TLS = 0x16;

/** How others begin what is not HTTP, and what to do about it. */
const OTHER_PROTOCOLS: readonly (readonly [beginning: Buffer, message: string])[] = [
  [Buffer.from("PROXY "), PROXY_PROTOCOL],
  [Buffer.from("\r\n\r\n\0\r\nQUIT\n"), PROXY_PROTOCOL],
  [Buffer.from("PRI * HTTP/2.0"), HTTP_2],
];

/** The message about a client that speaks a known protocol other than HTTP; `undefined` if it is none of them. */
function otherProtocol(error: Error, orTls: string): string | undefined {
  const bytes = "rawPacket" in error && Buffer.isBuffer(error.rawPacket) ? error.rawPacket : Buffer.of();
  if (bytes[0] === TLS) return `${TLS_EXPECTED}${orTls}.`;
  return OTHER_PROTOCOLS.find(([beginning]) => bytes.subarray(0, beginning.length).equals(beginning))?.[1];
}
