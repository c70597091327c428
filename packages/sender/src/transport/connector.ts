import { clearTimeout, setTimeout } from "node:timers";
import { connect as connectTcp, isIP, type Socket } from "node:net";
import { connect as connectTls, type ConnectionOptions as TlsOptions, type SecureContext } from "node:tls";
import { codeOf, connectionMessageOf, errorOf } from "@countersign/protocol";
import type { buildConnector } from "undici";
import { type AddressPolicyOptions, assertAllowed } from "./address-policy.ts";
import { checkedLookup } from "./checked-lookup.ts";
import type { FailedAddresses } from "./failed-addresses.ts";
import { type Proxy, withoutRootDot } from "./proxy.ts";
import type { ResolveHost } from "./resolve-host.ts";
import { CertificateError, TransportError } from "./transport-error.ts";
import { openTunnel, proxyUnusable, type StepOptions } from "./tunnel.ts";

/** How connections to endpoints are opened. */
export interface ConnectorOptions extends AddressPolicyOptions, StepOptions {
  readonly resolveHost: ResolveHost;
  readonly failed: FailedAddresses;
  readonly proxy: Proxy | undefined;
}

/**
 * Opens connections that are verified before they are handed over: the address against the policy, and over TLS the
 * certificate against the host's name. Verification cannot be switched off.
 *
 * @param trust Verifies certificates instead of the system's authorities.
 */
export function createConnector(
  options: ConnectorOptions,
  trust?: () => SecureContext,
): buildConnector.connector {
  return ({ hostname, port, protocol }, callback) => {
    const secure = protocol === "https:";
    const place: Place = { host: hostname, port: Number(port || (secure ? 443 : 80)), secure };
    try {
      // A literal address is connected to without a lookup, so that it has to be judged here.
      if (isIP(hostname) !== 0) assertAllowed(hostname, hostname, options);
      const { proxy } = options;
      const secureContext = secure ? trust?.() : undefined;
      if (proxy?.isFor(hostname) === true) connectThrough(proxy, place, options, secureContext, callback);
      else connectTo(place, options, secureContext, callback);
    } catch (error) {
      queueMicrotask(() => callback(errorOf(error), null));
    }
  };
}

/** Where a connection leads, and whether it is TLS. */
interface Place {
  /** A name, or an address without brackets. */
  readonly host: string;
  readonly port: number;
  readonly secure: boolean;
}

/** Opens a tunnel. TLS is spoken inside of it, with the endpoint itself. */
function connectThrough(
  proxy: Proxy,
  place: Place,
  options: ConnectorOptions,
  secureContext: SecureContext | undefined,
  callback: buildConnector.Callback,
): void {
  // Half of the time, so that a proxy that cannot be reached is told before the attempt ends as if the endpoint was slow.
  const toProxy = { ...options, connectTimeoutMs: Math.ceil(options.connectTimeoutMs / 2) };
  connectTo(proxy, toProxy, undefined, (failure, socket) => {
    if (failure !== null) {
      callback(proxyUnusable(proxy, failure), null);
      return;
    }
    const { host, port, secure } = place;
    const authority = `${isIP(host) === 6 ? `[${host}]` : host}:${port}`;
    openTunnel(socket, proxy, authority, options, (refusal) => {
      if (refusal !== null) callback(refusal, null);
      else if (secure) connectTo(place, options, secureContext, callback, socket);
      else callback(null, socket);
    });
  });
}

/** @param tunnel Leads there already; TLS is spoken over it. */
function connectTo(
  { host, port, secure }: Place,
  options: ConnectorOptions,
  secureContext: SecureContext | undefined,
  callback: buildConnector.Callback,
  tunnel?: Socket,
): void {
  const { connectTimeoutMs, pending } = options;
  const way = {
    // Node tries one address after the other. A quarter of a second for each, which is its default, would cut off
    // every endpoint that is farther away than that.
    autoSelectFamilyAttemptTimeout: 1_000,
    host,
    port,
    ...(isIP(host) === 0 && { lookup: checkedLookup(options, (all) => options.failed.last(all, port)) }),
  };
  const socket = secure
    ? connectSecurely(tunnel ? { host, socket: tunnel } : way, secureContext)
    : connectTcp(way);
  const event = secure ? "secureConnect" : "connect";
  const timer = setTimeout(() => {
    socket.destroy(new TransportError("ETIMEDOUT", `no connection within ${connectTimeoutMs} ms`));
  }, connectTimeoutMs);
  const settle = (): void => {
    clearTimeout(timer);
    pending.delete(socket);
    socket.off(event, onConnected).off("error", onError).off("close", onClose);
  };
  const onConnected = (): void => {
    settle();
    // An alert that follows the handshake, as of TLS 1.3 where a client certificate is missing, says what is wrong. Without this, the
    // end of the connection that comes after it would be taken for the cause.
    if (secure) socket.once("error", () => socket.destroy());
    callback(null, socket);
  };
  const onError = (error: Error): void => {
    settle();
    callback(asVerdict(socket, error), null);
  };
  const onClose = (): void => {
    settle();
    callback(new TransportError("ERR_ABORTED", "the connection attempt was cancelled"), null);
  };
  pending.add(socket);
  if (isIP(host) === 0) options.failed.watch(socket);
  socket.setNoDelay(true).setKeepAlive(true, 60_000);
  socket.once(event, onConnected).once("error", onError).once("close", onClose);
}

function connectSecurely(
  way: TlsOptions & { host: string },
  secureContext: SecureContext | undefined,
): Socket {
  return connectTls({
    ...way,
    ...(secureContext === undefined ? {} : { secureContext }),
    // Explicit, because NODE_TLS_REJECT_UNAUTHORIZED=0 turns the default around.
    rejectUnauthorized: true,
    ALPNProtocols: ["http/1.1"],
    // Only names may be asked for, and without the root's dot (RFC 6066, section 3).
    ...(isIP(way.host) === 0 && { servername: withoutRootDot(way.host) }),
  });
}

/** Tells a certificate that was not accepted from a connection that broke: Node marks the socket of the former. */
function asVerdict(socket: Socket, error: Error): Error {
  if (!("authorizationError" in socket) || socket.authorizationError == null) return error;
  const code = codeOf(error) ?? "ERR_TLS_HANDSHAKE";
  return new CertificateError(code, `the certificate was not accepted: ${connectionMessageOf(error)}`, {
    cause: error,
  });
}
