import type { Clock, Duration, VirtualClock } from "@countersign/protocol";
import type { RetryPolicy, SourceSettings } from "@countersign/sender";
import type { DeliveryStore } from "@countersign/sender/store";

/** Settings of {@link createServer}. Either `to` or `sources` says where messages go. */
export interface ServerOptions {
  /** One source whose messages go to this URL, or to one to five; any write key belongs to it. */
  readonly to?: string | readonly string[] | undefined;
  /** With `to`: the key of the `X-Signature` header. Left out, messages are not signed; `undefined` is refused. */
  readonly secret?: string | undefined;
  /** With `to`: static headers of every request. Their values count as credentials, and are never shown. */
  readonly headers?: Readonly<Record<string, string>> | undefined;
  /** With `to`: certificate authorities to trust instead of the system's, in PEM: one text or a list. */
  readonly ca?: string | readonly string[] | undefined;
  /** With `to`: how many messages may be in flight at once. Default: the sender's, 20. */
  readonly concurrency?: number | undefined;
  /** With `to`: the only accepted write key. Default: any. */
  readonly writeKey?: string | undefined;
  /** Several sources, each with its write key and destinations, instead of `to`. */
  readonly sources?: readonly SourceSettings[] | undefined;
  /** Address to listen on. One that others can reach needs a `token`. Default: `127.0.0.1`. */
  readonly host?: string | undefined;
  /** Port to listen on; 0 takes any that is free. Default: 4010. */
  readonly port?: number | undefined;
  /** Speaks TLS with this certificate. Default: plain HTTP. */
  readonly tls?: TlsOptions | undefined;
  /**
   * Required as a Bearer token for everything except the ingestion API, the files of the page, `/healthz`, and the status of
   * `/readyz`. Default: none.
   */
  readonly token?: string | undefined;
  /** Host names that requests outside `/v1` may use, in addition to `localhost` and IP addresses. */
  readonly allowHosts?: readonly string[] | undefined;
  /** Directory for everything that must survive a restart. Default: none, in memory. */
  readonly data?: string | undefined;
  /** Keeps deliveries, instead of files in `data`: a store that several processes share, such as `postgresStore()`. */
  readonly store?: DeliveryStore | undefined;
  /** Whether it also delivers; `false` if other processes on the same `store` do, which is then needed. Default: `true`. */
  readonly deliver?: boolean | undefined;
  /**
   * Most bytes that deliveries and the keys of repeats may take, on disk or in memory; rejected messages may take another
   * sixteenth of it. Ended deliveries and old keys make room for new calls. When pending deliveries fill four fifths, calls are
   * answered 503. It does not apply to a `store`. Default: 8 GiB with `data`, 256 MiB without, where 1,000,000,000 bytes are the
   * most.
   */
  readonly maxBytes?: number | undefined;
  /** How long ended deliveries are kept. A `store` that you pass has its own option. Default: `"7d"`. */
  readonly keepFor?: Duration | undefined;
  /** File to append each message to as it is sent, for `countersign replay`. */
  readonly record?: string | undefined;
  /** The source of the time. With a `virtualClock()`, `POST /api/clock` advances it. Default: `systemClock()`. */
  readonly clock?: Clock | VirtualClock | undefined;
  /** When to try again. A `store` that several processes share keeps it, and `countersign work` follows it. Default: the sender's policy, four hours. */
  readonly retry?: Partial<RetryPolicy> | undefined;
  /** Refuses endpoints on private networks and on this machine. Default: `false`. */
  readonly blockPrivateNetworks?: boolean | undefined;
  /**
   * URL of an HTTP proxy that endpoints are called through, by tunnels (CONNECT). It resolves the host names, so `blockPrivateNetworks`
   * is refused with it. The server then opens no connections but deliveries: no audits, no reachability. Default: none.
   */
  readonly proxy?: string | undefined;
  /** Hosts that are called without the proxy, in the form of NO_PROXY: a text with commas, or a list. Default: none. */
  readonly noProxy?: string | readonly string[] | undefined;
  /** Connections at once. Default: 1,000. */
  readonly maxConnections?: number | undefined;
  /** Adds memory, CPU and event loop of the whole process to `/metrics`. Default: `false`. */
  readonly processMetrics?: boolean | undefined;
  /** Receives errors that could not be reported to a caller. The server never prints. */
  readonly onError?: ((error: unknown) => void) | undefined;
}

/** The certificate of a server that speaks TLS. */
export interface TlsOptions {
  /** The certificate in PEM, followed by those that it depends on. */
  readonly cert: string | Buffer;
  /** Its private key in PEM, without a passphrase. */
  readonly key: string | Buffer;
}

/** Where a server listens, unless it is told otherwise: only this machine can reach it. */
export const DEFAULT_HOST = "127.0.0.1";

/** The name of the one source that `to` makes. */
export const DEFAULT_SOURCE = "default";

/** A mistake in the options, as a sentence that says what to do. */
export class ServerOptionsError extends TypeError {
  override readonly name = "ServerOptionsError";
}

/** The options that describe the one destination of `to`. */
const OPTIONS_OF_TO = ["secret", "headers", "ca", "concurrency", "writeKey"] as const;

/** The sources that options describe; none if they describe none. The sender checks what is in them. */
export function sourcesOf(options: ServerOptions): readonly SourceSettings[] {
  const { to, secret, headers, ca, concurrency, writeKey, sources } = options;
  const given = OPTIONS_OF_TO.filter((name) => options[name] !== undefined).map((name) => `\`${name}\``);
  if (sources !== undefined) {
    if (to !== undefined || given.length > 0) {
      throw new ServerOptionsError(
        "Give either `sources` or `to` with its options, not both. Each destination in `sources` has its own " +
          "`secret` and `concurrency`, each endpoint its own `headers` and `ca`.",
      );
    }
    return sources;
  }
  if (to === undefined) {
    if (given.length === 0) return [];
    const verb = given.length === 1 ? "belongs" : "belong";
    throw new ServerOptionsError(`${given.join(", ")} ${verb} to \`to\`, which is missing.`);
  }
  const endpoints = [to].flat().map((url) => ({ url, headers, ca }));
  // A secret that is undefined is passed on, too: the sender refuses it.
  const destination = { endpoints, ...("secret" in options && { secret }), concurrency };
  return [{ name: DEFAULT_SOURCE, writeKey: writeKey ?? DEFAULT_SOURCE, destinations: [destination] }];
}

/** Whether only this machine can reach an address. */
export function isLoopback(host: string): boolean {
  return host === "localhost" || host === "::1" || /^127(?:\.\d{1,3}){3}$/.test(host);
}
