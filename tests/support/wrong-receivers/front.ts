import { once } from "node:events";
import { createServer, request, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";

/** The largest body it passes on, in bytes: what `client_max_body_size` is in nginx. */
const LIMIT = 1_048_576;

/** Headers that belong to a connection, and not to the message. */
const OF_THE_CONNECTION: ReadonlySet<string> = new Set(["connection", "transfer-encoding", "content-length"]);

/** A web server as it stands in front of an application: it reads a body up to a limit, and then passes the request on. */
export async function startFront(
  receiver: string,
): Promise<{ readonly url: string; readonly server: Server }> {
  const server = createServer((incoming, outgoing) => void passOn(receiver, incoming, outgoing));
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const { port } = server.address() as AddressInfo;
  return { url: `http://127.0.0.1:${port}/webhooks`, server };
}

async function passOn(receiver: string, incoming: IncomingMessage, outgoing: ServerResponse): Promise<void> {
  const body = await bodyOf(incoming);
  if (body === undefined) {
    outgoing.writeHead(413, { connection: "close" }).end();
    return;
  }
  const headers = { ...keptHeaders(incoming), "content-length": String(body.length) };
  const onward = request(receiver, { method: incoming.method, headers }, (answer) => {
    outgoing.writeHead(answer.statusCode ?? 502, keptHeaders(answer));
    answer.pipe(outgoing);
  });
  onward.on("error", () => outgoing.destroy());
  onward.end(body);
}

/** The body of a request, or `undefined` if it is larger than the limit, or breaks off. */
async function bodyOf(incoming: IncomingMessage): Promise<Buffer | undefined> {
  if (Number(incoming.headers["content-length"] ?? 0) > LIMIT) return undefined;
  const chunks: Buffer[] = [];
  let size = 0;
  try {
    for await (const chunk of incoming as AsyncIterable<Buffer>) {
      size += chunk.length;
      if (size > LIMIT) return undefined;
      chunks.push(chunk);
    }
  } catch {
    return undefined;
  }
  return Buffer.concat(chunks);
}

function keptHeaders({ headers }: IncomingMessage): Record<string, string | string[]> {
  const kept = Object.entries(headers).filter(([name]) => !OF_THE_CONNECTION.has(name));
  return Object.fromEntries(kept) as Record<string, string | string[]>;
}
