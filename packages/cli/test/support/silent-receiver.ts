import { once } from "node:events";
import { createServer, type AddressInfo, type Socket } from "node:net";
import { cleanUp } from "../../../../tests/support/resources.ts";

/** A receiver that reads a request and leaves the response to the test. */
export interface SilentReceiver {
  readonly url: string;
  /**
   * The connection of the first request. A connection on which nothing arrives is none: at its start, `serve` opens one and
   * closes it again to find out whether somebody listens.
   */
  readonly requested: Promise<Socket>;
}

/** Starts one; it goes with the test. */
export async function startSilentReceiver(): Promise<SilentReceiver> {
  const server = createServer();
  const requested = new Promise<Socket>((resolve) => {
    server.on("connection", (socket) => {
      cleanUp(() => socket.destroy());
      // The command may exit while its request is open.
      socket.on("error", () => {});
      socket.once("data", () => resolve(socket));
    });
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  cleanUp(() => server.close());
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/`, requested };
}
