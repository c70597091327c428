import { once } from "node:events";
import { createServer, type IncomingMessage } from "node:http";
import type { AddressInfo } from "node:net";
import { text } from "node:stream/consumers";
import { Redis } from "ioredis";

/** A Redis server over HTTP, as Upstash offers it. */
export interface TestRest {
  readonly url: string;
  readonly token: string;
  stop(): Promise<void>;
}

type Command = [name: string, ...args: string[]];

/**
 * Serves the commands of a Redis server in Upstash's REST format: a command is a list, `/pipeline` takes a list of them, and
 * results are in base64 where the client asks for it.
 */
export async function startRest(redisUrl: string): Promise<TestRest> {
  const token = "the token of the test";
  const redis = new Redis(redisUrl, { lazyConnect: true });
  const runOne = async ([name, ...args]: Command, isEncoded: boolean): Promise<object> => {
    const result = await redis.call(name, ...args);
    return {
      result: isEncoded && typeof result === "string" ? Buffer.from(result).toString("base64") : result,
    };
  };
  const run = async (request: IncomingMessage): Promise<object> => {
    const { authorization, "upstash-encoding": encoding } = request.headers;
    if (authorization !== `Bearer ${token}`) throw new Error("The token is wrong.");
    const body: unknown = JSON.parse(await text(request));
    const isEncoded = encoding === "base64";
    if (request.url !== "/pipeline") return runOne(body as Command, isEncoded);
    return Promise.all((body as Command[]).map((command) => runOne(command, isEncoded)));
  };
  const server = createServer((request, response) => {
    run(request).then(
      (body) => response.end(JSON.stringify(body)),
      (error: unknown) => response.writeHead(400).end(JSON.stringify({ error: String(error) })),
    );
  }).listen(0, "127.0.0.1");
  await once(server, "listening");
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    token,
    async stop() {
      redis.disconnect();
      server.closeAllConnections();
      server.close();
      await once(server, "close");
    },
  };
}
