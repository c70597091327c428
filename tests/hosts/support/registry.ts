import { execFile } from "node:child_process";
import { createHash } from "node:crypto";
import { once } from "node:events";
import { readFile } from "node:fs/promises";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { promisify } from "node:util";

const execute = promisify(execFile);

/** A registry of the packages that were packed, for `@countersign:registry` in a project's `.npmrc`. */
export interface Registry {
  readonly url: string;
  /** The URL of a package's tarball. */
  tarballOf(name: string): string;
  close(): Promise<void>;
}

interface Packed {
  readonly name: string;
  readonly version: string;
  readonly bytes: Buffer;
  /** The `package.json` in the tarball. */
  readonly manifest: object;
}

/** Serves tarballs as the npm registry would, so that a page's install lines work as they are written. */
export async function startRegistry(tarballs: readonly string[]): Promise<Registry> {
  const packed = await Promise.all(tarballs.map(readPacked));
  const byName = new Map(packed.map((one) => [one.name, one]));
  const server = createServer((request, response) => {
    const path = decodeURIComponent(new URL(request.url ?? "/", url).pathname).slice(1);
    const [name = "", isTarball] = path.split("/-/");
    const found = byName.get(name);
    if (found === undefined) {
      response.writeHead(404, { "content-type": "application/json" }).end('{"error":"Not found"}');
    } else if (isTarball === undefined) {
      response.setHeader("content-type", "application/json");
      response.end(JSON.stringify(documentOf(found, tarballOf(name))));
    } else {
      response.setHeader("content-type", "application/octet-stream");
      response.end(found.bytes);
    }
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/`;
  const tarballOf = (name: string): string => `${url}${name}/-/package.tgz`;
  return {
    url,
    tarballOf,
    async close() {
      const closed = once(server, "close");
      server.close();
      server.closeAllConnections();
      await closed;
    },
  };
}

async function readPacked(file: string): Promise<Packed> {
  const { stdout } = await execute("tar", ["-xzOf", file, "package/package.json"]);
  const manifest = JSON.parse(stdout) as { name: string; version: string };
  return { ...manifest, bytes: await readFile(file), manifest };
}

/** What the registry says of a package. */
function documentOf({ name, version, bytes, manifest }: Packed, tarball: string): object {
  const dist = {
    tarball,
    shasum: createHash("sha1").update(bytes).digest("hex"),
    integrity: `sha512-${createHash("sha512").update(bytes).digest("base64")}`,
  };
  return {
    name,
    "dist-tags": { latest: version },
    versions: { [version]: { ...manifest, _id: `${name}@${version}`, dist } },
    time: { [version]: "2026-01-01T00:00:00.000Z" },
  };
}
