import { once } from "node:events";
import { createServer, type IncomingHttpHeaders } from "node:http";
import type { AddressInfo } from "node:net";
import { buffer } from "node:stream/consumers";
import { onTestFinished } from "vitest";

/** A request as a receiver got it. */
export interface Received {
  readonly path: string;
  readonly headers: IncomingHttpHeaders;
  readonly body: string;
  // A receiver's view of a message: whatever JSON says.
  readonly message: Readonly<Record<string, unknown>>;
}

interface Answer {
  readonly status: number;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: string;
}

export interface Receiver {
  readonly url: string;
  readonly received: Received[];
  /** What to answer; 200 unless told. "never" leaves the request open. */
  answer: (request: Received) => Answer | "never" | Promise<Answer>;
  close(): Promise<void>;
}

/** A receiver on a free port, closed when the test has finished. */
export async function startReceiver(answer: Receiver["answer"] = () => ({ status: 200 })): Promise<Receiver> {
  const receiver = await listen(answer);
  onTestFinished(() => receiver.close());
  return receiver;
}

async function listen(answer: Receiver["answer"]): Promise<Receiver> {
  const received: Received[] = [];
  const server = createServer((request, response) => {
    void (async () => {
      const bytes = await buffer(request).catch(() => undefined);
      // A sender that broke off gets no answer.
      if (bytes === undefined) return;
      const body = bytes.toString();
      const message = JSON.parse(body) as Received["message"];
      const one: Received = { path: request.url ?? "", headers: request.headers, body, message };
      received.push(one);
      const answered = await receiver.answer(one);
      if (answered === "never") return;
      response.writeHead(answered.status, answered.headers).end(answered.body);
    })();
  });
  // An idle connection is there for as long as the sender keeps it, also on a machine that has other work.
  server.keepAliveTimeout = 60_000;
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const { port } = server.address() as AddressInfo;
  const receiver: Receiver = {
    url: `http://127.0.0.1:${port}/`,
    received,
    answer,
    async close() {
      if (!server.listening) return;
      server.close();
      server.closeAllConnections();
      await once(server, "close");
    },
  };
  return receiver;
}
