import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo, Socket } from "node:net";
import { gunzipSync } from "node:zlib";
import type { SentMessage } from "@countersign/client/testing";
import { onTestFinished } from "vitest";
import { freePort } from "../../../../tests/support/free-port.ts";

interface Batch {
  readonly messageId: string;
  readonly sentAt: string;
  readonly context: { readonly library: { readonly name: string; readonly version: string } };
  readonly batch: readonly SentMessage[];
}

export interface Service {
  readonly url: string;
  readonly requests: readonly { readonly headers: IncomingMessage["headers"]; readonly batch: Batch }[];
  /** Each message once, by its id. */
  readonly messages: readonly SentMessage[];
  /** How many connections were opened. */
  readonly connections: number;
  /** Answers instead of the service, which then stores nothing. */
  answer: ((request: IncomingMessage, response: ServerResponse) => void) | undefined;
}

/** The ingestion service over a real socket. It is closed when the test ends, whatever is still open. */
export async function startService(): Promise<Service> {
  const requests: { headers: IncomingMessage["headers"]; batch: Batch }[] = [];
  const stored = new Map<string, SentMessage>();
  const sockets = new Set<Socket>();
  let connections = 0;
  const server = createServer((request, response) => {
    const chunks: Buffer[] = [];
    request.on("data", (chunk: Buffer) => chunks.push(chunk));
    request.on("error", () => {});
    request.on("end", () => {
      const body = Buffer.concat(chunks);
      const json = request.headers["content-encoding"] === "gzip" ? gunzipSync(body) : body;
      const batch = JSON.parse(json.toString("utf8")) as Batch;
      requests.push({ headers: request.headers, batch });
      if (service.answer) return service.answer(request, response);
      for (const message of batch.batch) stored.set(message.messageId, message);
      response.setHeader("content-type", "application/json");
      response.end('{"success":true}');
    });
  });
  server.on("connection", (socket) => {
    connections += 1;
    sockets.add(socket);
    socket.on("close", () => sockets.delete(socket));
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  onTestFinished(async () => {
    for (const socket of sockets) socket.destroy();
    await new Promise((resolve) => server.close(resolve));
  });
  const service: Service = {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    requests,
    get messages() {
      return [...stored.values()];
    },
    get connections() {
      return connections;
    },
    answer: undefined,
  };
  return service;
}

/** The URL of a port that nothing listens on. (A well-known one such as 1 will not do: fetch does not ask those.) */
export async function closedEndpoint(): Promise<string> {
  return `http://127.0.0.1:${await freePort()}`;
}
