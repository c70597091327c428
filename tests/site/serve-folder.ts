import { createReadStream, existsSync } from "node:fs";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { extname, join } from "node:path";
import { PassThrough } from "node:stream";
import { createGzip } from "node:zlib";

/** A folder of built pages over HTTP, compressed, as a host of static files would serve it. */
export interface FileServer {
  readonly url: string;
  /** Bytes of bodies that were sent so far, compressed. */
  sentBytes(): number;
  close(): Promise<void>;
}

const TYPES: Readonly<Record<string, string>> = {
  ".html": "text/html; charset=utf-8",
  ".js": "text/javascript",
  ".css": "text/css",
  ".json": "application/json",
  ".svg": "image/svg+xml",
  ".png": "image/png",
  ".md": "text/markdown; charset=utf-8",
  ".txt": "text/plain; charset=utf-8",
};

/** Serves a folder on a free port of the loopback interface. `/a` is `a.html`, `/a/` is `a/index.html`. */
export async function serveFolder(folder: string): Promise<FileServer> {
  let sent = 0;
  const server = createServer((request, response) => {
    const { pathname } = new URL(request.url ?? "/", "http://localhost");
    const file = fileOf(folder, decodeURI(pathname));
    if (file === undefined) {
      response.writeHead(404).end();
      return;
    }
    response.writeHead(200, {
      "content-type": TYPES[extname(file)] ?? "application/octet-stream",
      "content-encoding": "gzip",
    });
    const counted = new PassThrough().on("data", (chunk: Buffer) => {
      sent += chunk.length;
    });
    createReadStream(file).pipe(createGzip()).pipe(counted).pipe(response);
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    sentBytes: () => sent,
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
}

function fileOf(folder: string, path: string): string | undefined {
  const candidates = path.endsWith("/") ? [`${path}index.html`] : [path, `${path}.html`];
  return candidates.map((one) => join(folder, one)).find((one) => extname(one) !== "" && existsSync(one));
}
