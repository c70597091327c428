import { once } from "node:events";
import { connect, type Socket } from "node:net";

/** A request to send again and again. */
export interface LoadRequest {
  readonly body: Uint8Array;
  readonly headers: Readonly<Record<string, string>>;
  /** The status that every answer must have. */
  readonly status: number;
}

/** The request as bytes, for a server on this machine. */
function bytesOf({ body, headers }: LoadRequest): Buffer {
  const fields = { host: "localhost", "content-length": String(body.length), ...headers };
  const lines = Object.entries(fields).map(([name, value]) => `${name}: ${value}\r\n`);
  return Buffer.concat([Buffer.from(`POST / HTTP/1.1\r\n${lines.join("")}\r\n`), body]);
}

/**
 * Connections that each send a request, wait for the answer and send it again.
 *
 * It writes bytes and counts answers, nothing else: a client of a few microseconds a request, so that the server is
 * what is measured. A general load generator takes longer for a request than `node:http` does to answer it.
 */
export class Load {
  readonly #sockets: readonly Socket[];
  readonly #request: Buffer;
  readonly #expected: string;
  #left = 0;
  #inFlight = 0;
  #onIdle: (() => void) | undefined;
  #failure: Error | undefined;

  private constructor(sockets: readonly Socket[], request: LoadRequest) {
    this.#sockets = sockets;
    this.#request = bytesOf(request);
    this.#expected = `HTTP/1.1 ${request.status} `;
    for (const socket of sockets) this.#listen(socket);
  }

  static async open(port: number, connections: number, request: LoadRequest): Promise<Load> {
    const sockets = Array.from({ length: connections }, () =>
      connect({ port, host: "127.0.0.1", noDelay: true }),
    );
    await Promise.all(sockets.map((socket) => once(socket, "connect")));
    return new Load(sockets, request);
  }

  /** Sends so many requests; resolves when the last has been answered. */
  async run(requests: number): Promise<void> {
    // A connection that closed since the last time would be waited for without end.
    if (this.#failure !== undefined) throw this.#failure;
    this.#left = requests;
    const idle = new Promise<void>((resolve) => (this.#onIdle = resolve));
    for (const socket of this.#sockets) if (this.#left > 0) this.#send(socket);
    await idle;
    if (this.#failure !== undefined) throw this.#failure;
  }

  close(): void {
    for (const socket of this.#sockets) socket.removeAllListeners().destroy();
  }

  #send(socket: Socket): void {
    this.#left -= 1;
    this.#inFlight += 1;
    socket.write(this.#request);
  }

  #listen(socket: Socket): void {
    let received = "";
    socket.on("data", (chunk: Buffer) => {
      received += chunk.toString("latin1");
      if (!isWhole(received)) return;
      if (!received.startsWith(this.#expected)) return this.#fail(new Error(`Answered: ${received}`));
      received = "";
      this.#inFlight -= 1;
      if (this.#left > 0) this.#send(socket);
      else if (this.#inFlight === 0) this.#onIdle?.();
    });
    socket.on("error", (error) => this.#fail(error));
    socket.on("close", () => this.#fail(new Error("The server closed a connection.")));
  }

  #fail(error: Error): void {
    this.#failure ??= error;
    this.#left = 0;
    this.#onIdle?.();
  }
}

/** Whether an answer has come to its end: its headers, and as many bytes as they announce. */
function isWhole(received: string): boolean {
  const end = received.indexOf("\r\n\r\n");
  if (end < 0) return false;
  const length = /\r\ncontent-length: *(\d+)/i.exec(received.slice(0, end));
  return received.length >= end + 4 + Number(length?.[1] ?? 0);
}
