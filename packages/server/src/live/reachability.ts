import { once } from "node:events";
import { connect, isIP, type Socket } from "node:net";
import { assertCallable, type SenderSettings } from "@countersign/sender";
import { codeOf, isError, messageOf } from "@countersign/protocol";
import { namedDestinations } from "../settings/find-settings.ts";
import { roundedMs } from "../shapes/times.ts";

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

/** Opens a connection to each endpoint and closes it again. Nothing is sent. */
export function reachabilityOf(settings: SenderSettings): Promise<readonly Reachability[]> {
  const endpoints = settings.sources.flatMap((source) =>
    namedDestinations(source).flatMap(({ name, endpoints: all }) =>
      all.map(({ url }) => ({ destination: `${source.name}/${name}`, url })),
    ),
  );
  return Promise.all(endpoints.map(async (endpoint) => ({ ...endpoint, ...(await reach(endpoint.url)) })));
}

async function reach(url: string): Promise<Omit<Reachability, "destination" | "url">> {
  const started = performance.now();
  const { hostname, port, protocol } = new URL(url);
  // An IPv6 address stands in brackets.
  const host = hostname.replaceAll(/^\[|\]$/g, "");
  let socket: Socket | undefined;
  try {
    // What no delivery can reach is not reachable.
    if (isIP(host) !== 0) assertCallable(host, host);
    socket = connect({
      host,
      port: Number(port) || (protocol === "https:" ? 443 : 80),
      signal: AbortSignal.timeout(CONNECT_TIMEOUT_MS),
    });
    endIfRefused(socket);
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

/** Ends a socket before it connects to an address that no delivery may call. */
function endIfRefused(socket: Socket): void {
  socket.on("lookup", (_, address, __, host) => {
    try {
      assertCallable(host, address);
    } catch (error) {
      socket.destroy(error as Error);
    }
  });
}
