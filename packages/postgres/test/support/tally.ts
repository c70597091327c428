import { once } from "node:events";
import { createServer } from "node:http";
import { onTestFinished } from "vitest";
import { happened } from "./until.ts";

/** An endpoint that counts how often each message arrived. */
export interface Tally {
  readonly url: string;
  /** By messageId: when each of its requests arrived. */
  readonly arrivals: ReadonlyMap<string, readonly number[]>;
  /** Requests at the same time, at most. */
  readonly most: () => number;
}

/** How it answers. */
export interface TallyOptions {
  /** The status that a message is answered with. Default: 200. */
  readonly answer?: (messageId: string) => number;
  /** An answer is sent after this has resolved; of a number, after so many milliseconds. */
  readonly after?: number | ((messageId: string) => Promise<void>);
}

export async function startTally({ answer = () => 200, after = 0 }: TallyOptions = {}): Promise<Tally> {
  const arrivals = new Map<string, number[]>();
  let [now, most] = [0, 0];
  const server = createServer((request, response) => {
    const parts: Buffer[] = [];
    now += 1;
    most = Math.max(most, now);
    let isOver = false;
    const over = (): void => {
      if (!isOver) now -= 1;
      isOver = true;
    };
    // Whoever sent it has given it up.
    response.once("close", over);
    request.on("data", (part: Buffer) => parts.push(part));
    request.on("end", () => {
      const { messageId } = JSON.parse(Buffer.concat(parts).toString()) as { messageId: string };
      arrivals.set(messageId, [...(arrivals.get(messageId) ?? []), Date.now()]);
      const end = (): void => {
        over();
        response.writeHead(answer(messageId)).end();
        happened();
      };
      happened();
      if (typeof after === "function") void after(messageId).then(end);
      else if (after === 0) end();
      else setTimeout(end, after);
    });
    request.on("error", () => {});
  });
  server.keepAliveTimeout = 60_000;
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  onTestFinished(() => {
    server.close().closeAllConnections();
  });
  const { port } = server.address() as { port: number };
  return { url: `http://127.0.0.1:${port}/`, arrivals, most: () => most };
}
