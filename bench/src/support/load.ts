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
  #isRunning = false;
  #answered = 0;
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

  /** Sends requests for a while; resolves to the number of answers, when the last one has come. */
  async run(ms: number): Promise<number> {
    [this.#answered, this.#isRunning] = [0, true];
    const idle = new Promise<void>((resolve) => (this.#onIdle = resolve));
    setTimeout(() => (this.#isRunning = false), ms);
    for (const socket of this.#sockets) this.#send(socket);
    await idle;
    if (this.#failure !== undefined) throw this.#failure;
    return this.#answered;
  }

  close(): void {
    for (const socket of this.#sockets) socket.removeAllListeners().destroy();
  }

  #send(socket: Socket): void {
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
      this.#answered += 1;
      this.#inFlight -= 1;
      if (this.#isRunning) this.#send(socket);
      else if (this.#inFlight === 0) this.#onIdle?.();
    });
    socket.on("error", (error) => this.#fail(error));
    socket.on("close", () => this.#fail(new Error("The server closed a connection.")));
  }

  #fail(error: Error): void {
    this.#failure ??= error;
    this.#isRunning = false;
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
