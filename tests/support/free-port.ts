import { once } from "node:events";
import { createServer, type AddressInfo } from "node:net";

/** Ports that were given to other tests of this process, which may run side by side and not listen yet. */
const given = new Set<number>();

/** A port of 127.0.0.1 that nobody listens on, another one each time. */
export async function freePort(): Promise<number> {
  const server = createServer().listen(0, "127.0.0.1");
  await once(server, "listening");
  const { port } = server.address() as AddressInfo;
  server.close();
  await once(server, "close");
  if (given.has(port)) return freePort();
  given.add(port);
  return port;
}
