// Stands for the Function URL on this machine: an event of each request (payload format 2.0), a response of each result.
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { APIGatewayProxyEventV2 } from "aws-lambda";
import { handler } from "./handler.ts";

const port = Number(process.env["PORT"] ?? 3000);
/** The largest body that the service passes to a function. */
const MAX_BODY_BYTES = 6 * 1024 * 1024;

async function readBody(request: IncomingMessage): Promise<Buffer | undefined> {
  if (Number(request.headers["content-length"] ?? 0) > MAX_BODY_BYTES) return undefined;
  const chunks: Buffer[] = [];
  let bytes = 0;
  for await (const chunk of request.iterator({ destroyOnReturn: false }) as AsyncIterable<Buffer>) {
    bytes += chunk.length;
    if (bytes > MAX_BODY_BYTES) return undefined;
    chunks.push(chunk);
  }
  return Buffer.concat(chunks);
}

function eventOf(request: IncomingMessage, body: Buffer): APIGatewayProxyEventV2 {
  const { method = "GET", url = "/" } = request;
  const [path = "/", query = ""] = url.split("?");
  const headers = Object.entries(request.headersDistinct).map(([name, values = []]) => [
    name,
    values.join(","),
  ]);
  return {
    version: "2.0",
    routeKey: "$default",
    rawPath: path,
    rawQueryString: query,
    headers: Object.fromEntries(headers) as Record<string, string>,
    requestContext: {
      http: { method, path, protocol: "HTTP/1.1", sourceIp: "127.0.0.1", userAgent: "" },
    } as APIGatewayProxyEventV2["requestContext"],
    body: body.toString("base64"),
    isBase64Encoded: true,
  };
}

async function serve(request: IncomingMessage, response: ServerResponse): Promise<void> {
  try {
    const body = await readBody(request);
    if (body === undefined) {
      response.writeHead(413).end();
      // Reads on: a connection that is closed with bytes unread is reset, and the caller may miss the answer.
      request.resume();
      return;
    }
    const result = await handler(eventOf(request, body));
    response.writeHead(result.statusCode, result.headers);
    response.end(Buffer.from(result.body, result.isBase64Encoded ? "base64" : "utf8"));
  } catch (error) {
    // As the service does for a function that threw.
    console.error(error);
    if (!response.headersSent) response.writeHead(502).end();
  }
}

const server = createServer((request, response) => void serve(request, response));

server.listen(port, "127.0.0.1", () => {
  console.log(`Receiving webhooks at http://127.0.0.1:${port}/webhooks, signed with WEBHOOK_SECRET.`);
});
