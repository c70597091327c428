import { once } from "node:events";
import { connect, isIP, type Socket } from "node:net";
import { assertCallable, lookupCallable, type SenderSettings } from "@countersign/sender";
import { codeOf, isError, messageOf, roundedMs } from "@countersign/protocol";
import { namedDestinations } from "../settings/find-settings.ts";

/** Whether something listens where an endpoint is. */
export interface Reachability {
  /** `<source>/<destination>`. */
  readonly destination: string;
  readonly url: string;
  readonly reachable: boolean;
  /** Why not, such as `ECONNREFUSED`. */
  readonly code?: string;
  readonly message?: string;
  readonly durationMs: number;
}

const CONNECT_TIMEOUT_MS = 2_000;

/**
 * Connections in the making. Thousands at once would take the file descriptors of the clients, and each would wait longer for its turn
 * than it may take.
 */
const ADDRESSES_AT_ONCE = 50;

const lookup = lookupCallable(CONNECT_TIMEOUT_MS);

/** What was found out about an address. */
type Reached = Omit<Reachability, "destination" | "url">;

const asked = new WeakMap<SenderSettings, Promise<readonly Reachability[]>>();

/**
 * Opens a connection to the address of each endpoint and closes it again. Nothing is sent. Those that ask at the same time share an
 * answer.
 */
export function reachabilityOf(settings: SenderSettings): Promise<readonly Reachability[]> {
  const running = asked.get(settings);
  if (running) return running;
  const answer = reachAll(settings).finally(() => asked.delete(settings));
  asked.set(settings, answer);
  return answer;
}

async function reachAll({ sources }: SenderSettings): Promise<readonly Reachability[]> {
  const endpoints = sources.flatMap((source) =>
    namedDestinations(source).flatMap(({ name, endpoints: all }) =>
      all.map(({ url }) => ({ destination: `${source.name}/${name}`, url, address: addressOf(url) })),
    ),
  );
  const found = new Map<string, Reached>();
  const addresses = new Map(endpoints.map(({ address }) => [keyOf(address), address])).entries();
  const reachNext = async (): Promise<void> => {
    for (const [key, address] of addresses) found.set(key, await reach(address));
  };
  await Promise.all(Array.from({ length: ADDRESSES_AT_ONCE }, reachNext));
  return endpoints.flatMap(({ address, ...endpoint }) => {
    const reached = found.get(keyOf(address));
    return reached === undefined ? [] : { ...endpoint, ...reached };
  });
}

/** Where the connection of an endpoint goes. */
interface Address {
  readonly host: string;
  readonly port: number;
}

function addressOf(url: string): Address {
  const { hostname, port, protocol } = new URL(url);
  // An IPv6 address stands in brackets.
  const host = hostname.replaceAll(/^\[|\]$/g, "");
  return { host, port: Number(port || (protocol === "https:" ? 443 : 80)) };
}

function keyOf({ host, port }: Address): string {
  return `${host} ${port}`;
}

async function reach({ host, port }: Address): Promise<Reached> {
  const started = performance.now();
  let socket: Socket | undefined;
  try {
    // What no delivery can reach is not reachable.
    if (isIP(host) !== 0) assertCallable(host, host);
    socket = connect({ host, port, lookup, signal: AbortSignal.timeout(CONNECT_TIMEOUT_MS) });
    await once(socket, "connect");
    return { reachable: true, durationMs: roundedMs(performance.now() - started) };
  } catch (error) {
    const durationMs = roundedMs(performance.now() - started);
    const timedOut = isError(error) && error.name === "AbortError";
    const code = timedOut ? "ETIMEDOUT" : (codeOf(error) ?? "ERROR");
    const message = timedOut ? `No connection within ${CONNECT_TIMEOUT_MS / 1_000} s.` : messageOf(error);
    return { reachable: false, code, message, durationMs };
  } finally {
    socket?.destroy();
  }
}
