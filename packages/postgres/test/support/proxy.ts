import { once } from "node:events";
import { createServer, connect, type Socket } from "node:net";
import { onTestFinished } from "vitest";
import { happened } from "./until.ts";

/** A TCP proxy in front of a database, which can misbehave. */
export interface Proxy {
  readonly port: number;
  /** The same database by way of this proxy. */
  url(direct: string): string;
  /** How many connections were refused. */
  refused(): number;
  /** Passes nothing on until `resume`, in either direction; connections stay open. */
  stall(): void;
  resume(): void;
  /** Breaks every connection, and accepts new ones. */
  drop(): void;
  /**
   * Breaks a connection once it has passed a command on that contains one of these texts, before the answer comes back.
   *
   * @returns how often it has done so
   */
  cutBeforeAnswer(texts: readonly string[], times: number): () => number;
  /** The same before it has passed the command on. */
  cutBeforeCommand(texts: readonly string[], times: number): () => number;
  /**
   * Keeps the answer back to the first command that contains one of these texts, until `release`; other connections go on.
   */
  holdAnswer(texts: readonly string[]): { readonly isHeld: () => boolean; release(): void };
  /** Breaks every connection, and leads new ones to this port. */
  lead(port: number): void;
  /** Leads new connections to this port. */
  leadNew(port: number): void;
  /** Refuses connections until `open`. */
  close(): void;
  open(): void;
}

interface Pair {
  readonly client: Socket;
  readonly server: Socket;
}

export async function startProxy(first: number): Promise<Proxy> {
  let port = first;
  const pairs = new Set<Pair>();
  let [isStalled, isClosed, refused] = [false, false, 0];
  let hold: { readonly texts: readonly string[]; pair?: Pair; isHeld: boolean } | undefined;
  let cut:
    | { readonly texts: readonly string[]; readonly isEarly: boolean; left: number; done: number }
    | undefined;

  function end(pair: Pair): void {
    pairs.delete(pair);
    pair.client.destroy();
    pair.server.destroy();
  }

  const proxy = createServer((client) => {
    if (isClosed) {
      refused += 1;
      client.destroy();
      happened();
      return;
    }
    const server = connect(port, "127.0.0.1");
    const pair = { client, server };
    pairs.add(pair);
    let isCut = false;
    if (isStalled) for (const socket of [client, server]) socket.pause();
    client.on("data", (bytes) => {
      const isNextCut = cut !== undefined && cut.left > 0 && cut.texts.some((text) => bytes.includes(text));
      if (!isNextCut || cut?.isEarly !== true) server.write(bytes);
      if (hold !== undefined && hold.pair === undefined && hold.texts.some((text) => bytes.includes(text))) {
        hold.pair = pair;
        server.pause();
        hold.isHeld = true;
        happened();
      }
      if (cut === undefined || !isNextCut || isCut) return;
      isCut = true;
      cut.left -= 1;
      cut.done += 1;
      if (cut.isEarly) end(pair);
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
  const cutAt = (texts: readonly string[], times: number, isEarly: boolean): (() => number) => {
    const made = { texts, isEarly, left: times, done: 0 };
    cut = made;
    return () => made.done;
  };
  const pauseAll = (action: "pause" | "resume"): void => {
    for (const { client, server } of pairs) for (const socket of [client, server]) socket[action]();
  };
  const own = (proxy.address() as { port: number }).port;
  return {
    port: own,
    url: (direct) => Object.assign(new URL(direct), { port: String(own) }).href,
    refused: () => refused,
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
    cutBeforeAnswer: (texts, times) => cutAt(texts, times, false),
    cutBeforeCommand: (texts, times) => cutAt(texts, times, true),
    holdAnswer(texts) {
      const made: NonNullable<typeof hold> = { texts, isHeld: false };
      hold = made;
      return { isHeld: () => made.isHeld, release: () => void made.pair?.server.resume() };
    },
    lead(to) {
      port = to;
      for (const pair of pairs) end(pair);
    },
    leadNew: (to) => void (port = to),
    close() {
      isClosed = true;
      for (const pair of pairs) end(pair);
    },
    open() {
      isClosed = false;
    },
  };
}
