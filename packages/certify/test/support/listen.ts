import { once } from "node:events";
import { createServer as createHttpServer, type RequestListener, type Server } from "node:http";
import type { AddressInfo, Server as NetServer, Socket } from "node:net";

export const SECRET = "a shared secret of some length";

export interface RunningReceiver {
  readonly url: string;
  close(): Promise<void>;
}

/**
 * Starts a server on this machine.
 *
 * @param given Its port. Without one, it gets one that is free: another process may get it as soon as the server has closed.
 */
export async function listen(server: NetServer | Server, given = 0): Promise<RunningReceiver> {
  const sockets = new Set<Socket>();
  server.on("connection", (socket: Socket) => {
    sockets.add(socket);
    socket.once("close", () => sockets.delete(socket));
  });
  server.listen(given, "127.0.0.1");
  await once(server, "listening");
  const { port } = server.address() as AddressInfo;
  return {
    url: `http://127.0.0.1:${port}/webhooks`,
    async close() {
      if (!server.listening) return;
      const closed = once(server, "close");
      server.close();
      for (const socket of sockets) socket.destroy();
      await closed;
    },
  };
}

export function serve(listener: RequestListener): Promise<RunningReceiver> {
  return listen(createHttpServer(listener));
}
