import type { Clock, RetryPolicy, SourceSettings, VirtualClock } from "@countersign/sender";

/** Settings of {@link createServer}. Either `to` or `sources` says where messages go. */
export interface ServerOptions {
  /** One source whose messages go to this URL, or to one to five; any write key belongs to it. */
  readonly to?: string | readonly string[] | undefined;
  /** With `to`: the key of the `X-Signature` header. Without one, messages are not signed. */
  readonly secret?: string | undefined;
  /** With `to`: the only write key that is taken. Any is, unless told. */
  readonly writeKey?: string | undefined;
  /** Several sources, each with its write key and destinations, instead of `to`. */
  readonly sources?: readonly SourceSettings[] | undefined;
  /** Address to listen on; `127.0.0.1` unless told. Any address that is not this machine's own loopback needs a `token`. */
  readonly host?: string | undefined;
  /** Port to listen on; 4010 unless told, 0 for any that is free. */
  readonly port?: number | undefined;
  /** Asked of everyone who uses anything but the ingestion API, as a Bearer token. */
  readonly token?: string | undefined;
  /** Host names that requests outside `/v1` may be addressed to, besides `localhost` and IP addresses. */
  readonly allowHosts?: readonly string[] | undefined;
  /** Directory for everything that must survive a restart; in memory unless told. */
  readonly data?: string | undefined;
  /** File to append each message to as it is sent, for `countersign replay`. */
  readonly record?: string | undefined;
  /** Where time comes from; the system unless told. With a `virtualClock()`, `POST /api/clock` moves it. */
  readonly clock?: Clock | VirtualClock | undefined;
  /** When to try again; the sender's policy of four hours unless told. */
  readonly retry?: Partial<RetryPolicy> | undefined;
  /** Refuses endpoints on private networks and on this machine; `false` unless told. */
  readonly blockPrivateNetworks?: boolean | undefined;
  /** Connections at once; 1,000 unless told. */
  readonly maxConnections?: number | undefined;
  /** Adds memory, CPU and event loop of the whole process to `/metrics`; `false` unless told. */
  readonly processMetrics?: boolean | undefined;
  /** Told of what went wrong where no caller could be told. Nothing is printed. */
  readonly onError?: ((error: unknown) => void) | undefined;
}

/** The name of the one source that `to` makes. */
const DEFAULT_SOURCE = "default";

/** A mistake in the options, as a sentence that says what to do. */
export class ServerOptionsError extends TypeError {
  override readonly name = "ServerOptionsError";
}

/** The sources that options describe. The sender checks what is in them. */
export function sourcesOf({ to, secret, writeKey, sources }: ServerOptions): readonly SourceSettings[] {
  if (sources !== undefined) {
    if (to !== undefined || secret !== undefined || writeKey !== undefined) {
      throw new ServerOptionsError("Give either `sources` or `to` with `secret` and `writeKey`, not both.");
    }
    return sources;
  }
  if (to === undefined)
    throw new ServerOptionsError("There is nowhere to forward to: give `to`, or `sources`.");
  const endpoints = [to].flat().map((url) => ({ url }));
  const destination = { endpoints, ...(secret !== undefined && { sharedSecret: secret }) };
  return [{ name: DEFAULT_SOURCE, writeKey: writeKey ?? DEFAULT_SOURCE, destinations: [destination] }];
}

/** Whether only this machine can reach an address. */
export function isLoopback(host: string): boolean {
  return host === "localhost" || host === "::1" || /^127(?:\.\d{1,3}){3}$/.test(host);
}
