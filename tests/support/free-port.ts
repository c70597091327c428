import { once } from "node:events";
import { createServer } from "node:net";

// No system gives a port below 32768 by itself: neither to a server that asks for any, nor to a client for its end of a connection.
// One of those that it gives could be another test's by the time that it is listened on, or that a connection to it is refused.
const FIRST_PORT = 20_000;
/** The workers of a run have ports of their own, so that two that look at the same moment do not find the same one. */
const PORTS_OF_WORKER = 700;
const WORKERS = 18;
const FIRST_OF_WORKER =
  FIRST_PORT + ((Number(process.env["VITEST_POOL_ID"] ?? 0) || 0) % WORKERS) * PORTS_OF_WORKER;

/** How many ports were looked at, from one that another run, or an earlier file, has hardly begun with, too. */
let looked = Math.floor(Math.random() * PORTS_OF_WORKER);

/** A port of 127.0.0.1 that nobody listens on, another one each time. Only who asked for it knows it, so it stays free until then. */
export async function freePort(): Promise<number> {
  for (let tries = 0; tries < PORTS_OF_WORKER; tries += 1) {
    const port = FIRST_OF_WORKER + (looked % PORTS_OF_WORKER);
    looked += 1;
    if (await isFree(port)) return port;
  }
  throw new Error(`None of the ${PORTS_OF_WORKER} ports from ${FIRST_OF_WORKER} on is free.`);
}

async function isFree(port: number): Promise<boolean> {
  const server = createServer().listen(port, "127.0.0.1");
  try {
    await once(server, "listening");
  } catch {
    return false;
  }
  server.close();
  await once(server, "close");
  return true;
}
