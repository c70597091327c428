import { once } from "node:events";
import { createServer, connect, type Socket } from "node:net";
import { onTestFinished } from "vitest";

/** A TCP proxy in front of a database, which can misbehave. */
export interface Proxy {
  readonly port: number;
  /** Passes nothing on until `resume`, in either direction; connections stay open. */
  stall(): void;
  resume(): void;
  /** Breaks every connection, and accepts new ones. */
  drop(): void;
  /**
   * Breaks a connection once it has passed a command on that contains `text`, before the answer comes back.
   *
   * @returns how often it has done so
   */
  cutBeforeAnswer(text: string, times: number): () => number;
  /** Refuses connections until `open`. */
  close(): void;
  open(): void;
}

interface Pair {
  readonly client: Socket;
  readonly server: Socket;
}

export async function startProxy(port: number): Promise<Proxy> {
  const pairs = new Set<Pair>();
  let [isStalled, isClosed] = [false, false];
  let cut: { readonly text: string; left: number; done: number } | undefined;

  function end(pair: Pair): void {
    pairs.delete(pair);
    pair.client.destroy();
    pair.server.destroy();
  }

  const proxy = createServer((client) => {
    if (isClosed) {
      client.destroy();
      return;
    }
    const server = connect(port, "127.0.0.1");
    const pair = { client, server };
    pairs.add(pair);
    let isCut = false;
    if (isStalled) for (const socket of [client, server]) socket.pause();
    client.on("data", (bytes) => {
      server.write(bytes);
      if (cut === undefined || cut.left === 0 || isCut || !bytes.includes(cut.text)) return;
      isCut = true;
      cut.left -= 1;
      cut.done += 1;
    });
    server.on("data", (bytes) => {
      if (isCut) end(pair);
      else client.write(bytes);
    });
    for (const socket of [client, server]) {
      socket.on("close", () => end(pair));
      socket.on("error", () => end(pair));
    }
  }).listen(0, "127.0.0.1");
  await once(proxy, "listening");
  onTestFinished(() => {
    proxy.close();
    for (const pair of pairs) end(pair);
  });
  const pauseAll = (action: "pause" | "resume"): void => {
    for (const { client, server } of pairs) for (const socket of [client, server]) socket[action]();
  };
  return {
    port: (proxy.address() as { port: number }).port,
    stall() {
      isStalled = true;
      pauseAll("pause");
    },
    resume() {
      isStalled = false;
      pauseAll("resume");
    },
    drop() {
      for (const pair of pairs) end(pair);
    },
    cutBeforeAnswer(text, times) {
      const made = { text, left: times, done: 0 };
      cut = made;
      return () => made.done;
    },
    close() {
      isClosed = true;
      for (const pair of pairs) end(pair);
    },
    open() {
      isClosed = false;
    },
  };
}
