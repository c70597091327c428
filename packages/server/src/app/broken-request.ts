import { STATUS_CODES, type ServerResponse } from "node:http";
import type { Socket } from "node:net";

const STATUSES: Readonly<Record<string, readonly [status: number, code: string]>> = {
  HPE_HEADER_OVERFLOW: [431, "headers_too_large"],
  ERR_HTTP_REQUEST_TIMEOUT: [408, "request_timeout"],
};

/**
 * Answers what is not HTTP, or too slow or too large to be read as such, before any route is known: in the shape of the
 * ingestion API, whose clients crash on an error without a `code`.
 */
export function answerBrokenRequest(error: NodeJS.ErrnoException, socket: Socket): void {
  if (error.code === "ECONNRESET" || !socket.writable) {
    socket.destroy();
    return;
  }
  const [status, code] = STATUSES[error.code ?? ""] ?? [400, "malformed_request"];
  const message = STATUS_CODES[status] ?? "";
  const body = JSON.stringify({ success: false, code, message });
  const head = `HTTP/1.1 ${status} ${message}\r\nContent-Type: application/json\r\nContent-Length: ${body.length}\r\nConnection: close\r\n\r\n`;
  socket.end(head + body, () => socket.destroy());
}

/** Answers a path that cannot be decoded, which no route can be found for: under `/v1` as clients read it, elsewhere as a problem. */
export function answerMalformedUrl(url: string, response: ServerResponse): void {
  const [type, body] = FOR_CLIENTS.test(url)
    ? ["application/json", { success: false, code: "malformed_url", message: "Malformed URL" }]
    : ["application/problem+json", MALFORMED_URL];
  response.writeHead(400, { "content-type": type }).end(JSON.stringify(body));
}

const FOR_CLIENTS = /^\/+v1(?:\/|$)/u;

const MALFORMED_URL = {
  type: "about:blank",
  title: "Bad Request",
  status: 400,
  detail: "In the path, a percent sign must begin the code of a character, such as %20.",
};

/** The message about a client that speaks TLS to a server that does not. */
export const TLS_EXPECTED =
  "A client used TLS, but the server does not. Configure the client with an http: address, or start the server with --tls-self-signed or a certificate.";

/** Whether what could not be read as HTTP is the beginning of a TLS handshake. */
export function isTlsHello(error: Error): boolean {
  return "rawPacket" in error && Buffer.isBuffer(error.rawPacket) && error.rawPacket[0] === 0x16;
}
