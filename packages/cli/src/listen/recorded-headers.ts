import type { IncomingMessage } from "node:http";

/** What belongs to one connection, or was added on the way, and is not the sender's. */
const OF_THE_WAY =
  /^(?:host|connection|content-length|transfer-encoding|keep-alive|proxy-connection|te|trailer|upgrade|expect|accept-encoding|forwarded|via|x-real-ip|x-forwarded-.*)$/i;

/** The headers of a request as its sender wrote them, without those of the connection and of proxies. */
export function recordedHeaders({ rawHeaders }: IncomingMessage): Readonly<Record<string, string>> {
  const headers: Record<string, string> = {};
  for (let at = 0; at + 1 < rawHeaders.length; at += 2) {
    const [name = "", value = ""] = rawHeaders.slice(at, at + 2);
    if (!OF_THE_WAY.test(name)) headers[name] = value;
  }
  return headers;
}

/** The URL under which a request arrived, as far as it tells. */
export function urlOf({ headers, url = "/" }: IncomingMessage): string {
  return `http://${headers.host ?? "localhost"}${url.startsWith("/") ? url : "/"}`;
}
