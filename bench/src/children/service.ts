// An ingestion service that every client library takes for its own: it reads a batch to its end, counts its events and
// answers 200. GET /count answers how many there were; GET /close also closes the connections that wait. Sends its URL.
import { once } from "node:events";
import { createServer, type IncomingMessage } from "node:http";
import type { AddressInfo } from "node:net";
import { gunzipSync } from "node:zlib";

let events = 0;

async function countEvents(request: IncomingMessage): Promise<void> {
  const chunks: Buffer[] = [];
  for await (const chunk of request) chunks.push(chunk as Buffer);
  const body = Buffer.concat(chunks);
  const isGzip = request.headers["content-encoding"] === "gzip" || body[0] === 0x1f;
  const { batch } = JSON.parse((isGzip ? gunzipSync(body) : body).toString()) as { batch: unknown[] };
  events += batch.length;
}

const server = createServer((request, response) => {
  if (request.method === "GET") {
    if (request.url === "/close") {
      response.setHeader("connection", "close");
      server.closeIdleConnections();
    }
    response.end(String(events));
    return;
  }
  countEvents(request).then(
    () => response.writeHead(200, { "content-type": "application/json" }).end('{"success":true,"status":1}'),
    (error: unknown) => response.writeHead(500).end(String(error)),
  );
});
server.keepAliveTimeout = 60_000;
server.listen(0, "127.0.0.1");
await once(server, "listening");
process.send?.(`http://127.0.0.1:${(server.address() as AddressInfo).port}`);
