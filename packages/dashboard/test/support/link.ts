import { once } from "node:events";
import { connect, createServer, type AddressInfo, type Socket } from "node:net";
import { onTestFinished } from "vitest";

/** What lies between a page and its server. */
export interface Link {
  /** The address of the server, through the link. */
  readonly url: string;
  /** Ends every connection, and takes no other one until it is mended. */
  cut(): void;
  /** Passes nothing on, and keeps every connection, until it is mended: so it is before a server that hangs. */
  freeze(): void;
  /** Passes nothing more on of the event streams that are open. The rest goes on, and so does a stream that is opened later. */
  hush(): void;
  mend(): void;
}

/** Lays a link to a server. */
export async function layLink(to: string): Promise<Link> {
  const { port, hostname } = new URL(to);
  const sockets = new Set<Socket>();
  const streams = new Set<Socket>();
  let [isCut, isFrozen] = [false, false];
  const pass = (from: Socket, into: Socket): void => {
    sockets.add(from);
    from.on("data", (chunk) => void into.write(chunk));
    from.on("error", () => {});
    from.on("close", () => {
      sockets.delete(from);
      into.destroy();
    });
    if (isFrozen) from.pause();
  };
  const server = createServer((near) => {
    if (isCut) {
      near.destroy();
      return;
    }
    const far = connect(Number(port), hostname);
    pass(near, far);
    pass(far, near);
    near.on("data", (chunk) => {
      if (chunk.includes("GET /api/events")) streams.add(far);
    });
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const cut = (): void => {
    isCut = true;
    for (const socket of sockets) socket.destroy();
  };
  onTestFinished(() => {
    cut();
    server.close();
  });
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    cut,
    freeze() {
      isFrozen = true;
      for (const socket of sockets) socket.pause();
    },
    hush() {
      for (const stream of streams) stream.removeAllListeners("data").resume();
    },
    mend() {
      [isCut, isFrozen] = [false, false];
      for (const socket of sockets) socket.resume();
    },
  };
}
