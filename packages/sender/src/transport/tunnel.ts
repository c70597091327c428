import { request } from "node:http";
import { clearTimeout, setTimeout } from "node:timers";
import type { Socket } from "node:net";
import type { Proxy } from "./proxy.ts";
import { connectionMessageOf } from "@countersign/protocol";
import { TransportError } from "./transport-error.ts";

/** More of an answer's head is not read, in bytes. */
const MAX_HEAD_BYTES = 16_384;

/** What holds for each step towards a connection. */
export interface StepOptions {
  /** Milliseconds after which it is cancelled. */
  readonly connectTimeoutMs: number;
  /** Sockets that cannot be used yet, so that closing can drop them. */
  readonly pending: Set<Socket>;
}

/**
 * Asks a proxy for a tunnel (RFC 9110, section 9.3.6).
 *
 * @param socket Is connected to the proxy. Afterwards it leads to the endpoint.
 * @param authority Host and port of the endpoint.
 * @param callback Called once; with the error if there is no tunnel.
 */
export function openTunnel(
  socket: Socket,
  proxy: Proxy,
  authority: string,
  { connectTimeoutMs, pending }: StepOptions,
  callback: (error: Error | null) => void,
): void {
  const { authorization } = proxy;
  const asking = request({
    method: "CONNECT",
    path: authority,
    headers: {
      host: authority,
      ...(authorization !== undefined && { "proxy-authorization": authorization }),
    },
    maxHeaderSize: MAX_HEAD_BYTES,
    createConnection: () => socket,
  });
  const timer = setTimeout(() => {
    asking.destroy(new Error(`no answer to CONNECT ${authority} within ${connectTimeoutMs} ms`));
  }, connectTimeoutMs);
  const settle = (): void => {
    clearTimeout(timer);
    pending.delete(socket);
  };
  pending.add(socket);
  asking
    .once("connect", ({ statusCode = 0, statusMessage = "" }, _, early: Buffer) => {
      settle();
      const isOpen = statusCode >= 200 && statusCode < 300;
      if (isOpen && early.length === 0) {
        callback(null);
        return;
      }
      // The proxy may leave its connection open.
      socket.destroy();
      if (isOpen) {
        // Nobody speaks before the sender does. The HTTP client would take it for a broken connection, and open another one at once, on
        // and on until the attempt ends.
        callback(proxyError(proxy, `sent more than its answer to CONNECT ${authority}`));
        return;
      }
      const answer = `${statusCode} ${statusMessage}`.trim();
      callback(proxyError(proxy, `answered ${answer} to CONNECT ${authority}`));
    })
    .once("error", (error) => {
      settle();
      callback(proxyUnusable(proxy, error));
    })
    .end();
}

/** What keeps a connection from its proxy. It is tried again, unlike a certificate of the endpoint that is not accepted. */
export function proxyUnusable(proxy: Proxy, cause: Error): TransportError {
  return proxyError(proxy, `cannot be used: ${connectionMessageOf(cause)}`, { cause });
}

function proxyError({ name }: Proxy, what: string, options?: ErrorOptions): TransportError {
  return new TransportError("ERR_PROXY", `the proxy ${name} ${what}`, options);
}
