import { once } from "node:events";
import { connect } from "node:net";
import type { SignedRequest } from "@countersign/core/testing";

/** An HTTP answer, read off the wire. */
export interface RawAnswer {
  readonly status: number;
  /** Names in lower case. */
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
}

/** A request as it goes over the wire: nothing is added, removed or checked. */
export interface RawRequest {
  readonly method?: string;
  /** One entry a line, so that names can be repeated. Values are written as Latin-1. */
  readonly headers: readonly (readonly [name: string, value: string])[];
  readonly body?: Uint8Array;
  /** Leave it to the server whether the connection is closed after its answer. By default it is asked to. */
  readonly keepAlive?: boolean;
}

/** A signed request as it goes over the wire, its length declared. */
export function asWritten({ headers, body }: Pick<SignedRequest, "headers" | "body">): RawRequest {
  return { headers: [...Object.entries(headers), ["content-length", String(body.length)]], body };
}

/** The bytes of a request. */
export function wireBytes(url: string, request: RawRequest): Buffer {
  const { method = "POST", headers, body, keepAlive = false } = request;
  const { host, pathname } = new URL(url);
  const lines = [`${method} ${pathname} HTTP/1.1`, `Host: ${host}`];
  if (!keepAlive) lines.push("Connection: close");
  for (const [name, value] of headers) lines.push(`${name}: ${value}`);
  const head = Buffer.from(`${lines.join("\r\n")}\r\n\r\n`, "latin1");
  return body === undefined ? head : Buffer.concat([head, body]);
}

/** Sends bytes over a socket of their own and reads the answer to its end. */
export async function exchange(url: string, bytes: Uint8Array, endless?: Uint8Array): Promise<RawAnswer> {
  const { hostname, port } = new URL(url);
  const socket = connect({ host: hostname, port: Number(port) });
  const chunks: Buffer[] = [];
  socket.on("data", (chunk) => chunks.push(chunk));
  // A server may close while it is still being written to: what counts is what it said before.
  socket.on("error", () => {});
  socket.write(bytes);
  if (endless !== undefined) {
    const more = (): void => {
      if (chunks.length === 0 && !socket.destroyed) socket.write(endless, () => setImmediate(more));
    };
    more();
  }
  await once(socket, "close");
  return parseAnswer(Buffer.concat(chunks).toString("latin1"));
}

function parseAnswer(text: string): RawAnswer {
  const [head = "", ...rest] = text.split("\r\n\r\n");
  const [statusLine = "", ...lines] = head.split("\r\n");
  const headers = Object.fromEntries(
    lines.map((line) => {
      const [name = "", ...value] = line.split(":");
      return [name.toLowerCase(), value.join(":").trim()];
    }),
  );
  return { status: Number(statusLine.split(" ")[1]), headers, body: rest.join("\r\n\r\n") };
}
