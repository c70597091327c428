import type { Socket } from "node:net";
import type { SecureContext } from "node:tls";
import { Agent, type buildConnector } from "undici";
import { CUT_CODE, cutOnPurpose, faultyBody, isWireFault, type WireFault } from "../faults/wire-fault.ts";
import type { AddressPolicyOptions } from "./address-policy.ts";
import { trustOnly } from "./certificate-authority.ts";
import { outcomeOfError } from "./classify.ts";
import { createConnector, oneQuestionPerHost, resolveBySystem, type ResolveHost } from "./connector.ts";
import { exchange } from "./exchange.ts";
import { TransportError } from "./transport-error.ts";
import type { AttemptRequest, AttemptResult, SendOptions, Transport } from "./transport.ts";

/** Settings of {@link createTransport}. */
export interface TransportOptions extends AddressPolicyOptions {
  /**
   * Resolves host names instead of the operating system. The addresses it gives are checked like any others, each
   * time a connection is opened.
   */
  readonly resolveHost?: ResolveHost | undefined;
  /**
   * Milliseconds until a connection that does not come about is given up, TLS handshake included. An attempt ends by
   * its own `timeoutMs`; this bounds how long its connection may linger after that.
   *
   * @defaultValue 5000
   */
  readonly connectTimeoutMs?: number | undefined;
}

// Each holds its parsed certificates. More endpoints than this with an authority of their own still work; the
// connections of those used longest ago are then opened anew.
const MAX_AUTHORITIES = 256;

const http: Agent.Options = {
  allowH2: false,
  pipelining: 1,
  maxHeaderSize: 16_384,
  headersTimeout: 0,
  bodyTimeout: 0,
};

/**
 * The transport that calls endpoints over the network, HTTP/1.1 with connections kept alive per origin and `ca`.
 *
 * - TLS certificates are verified, always; an endpoint whose certificate is not accepted sees no request (spec 5.2).
 * - Addresses are judged after resolution, when the connection is opened, and what was judged is what is connected to.
 * - Redirects are not followed. At most 16 KiB of a response's headers and of its body are held.
 *
 * @throws TypeError when `connectTimeoutMs` is not a length of time.
 * @example
 * ```ts
 * const transport = createTransport({ blockPrivateNetworks: true });
 * const result = await transport.send({ url, headers, body }, { timeoutMs: 5_000 });
 * if (result.outcome === "success") await transport.close();
 * ```
 */
export function createTransport(options: TransportOptions = {}): Transport {
  const pending = new Set<Socket>();
  const live = new Set<Agent>();
  const agents = new Map<string, Agent>();
  let closed = false;
  const connectorOptions = {
    blockPrivateNetworks: options.blockPrivateNetworks,
    resolveHost: oneQuestionPerHost(options.resolveHost ?? resolveBySystem),
    connectTimeoutMs: parseConnectTimeout(options.connectTimeoutMs),
    pending,
  };

  const agentOver = (connect: buildConnector.connector): Agent => {
    const agent = new Agent({ ...http, connect });
    live.add(agent);
    return agent;
  };

  const agentFor = (ca: AttemptRequest["ca"]): Agent => {
    const key = keyOf(ca);
    const agent = agents.get(key) ?? agentOver(createConnector(connectorOptions, trustFor(ca)));
    // Put last again: the first in the map is the one used longest ago.
    agents.delete(key);
    agents.set(key, agent);
    for (const [oldest, unused] of agents) {
      if (agents.size <= MAX_AUTHORITIES) {
        break;
      }
      agents.delete(oldest);
      void unused.close().then(() => live.delete(unused));
    }
    return agent;
  };

  const sendWithFault = async (
    fault: WireFault,
    request: AttemptRequest,
    limits: SendOptions,
  ): Promise<AttemptResult> => {
    let socket: Socket | null = null;
    const connector = createConnector(connectorOptions, trustFor(request.ca));
    const agent = agentOver((target, callback) =>
      connector(target, (...args) => {
        socket = args[1];
        callback(...args);
      }),
    );
    const over = new AbortController();
    const body = faultyBody(fault, request.body, {
      socket: () => socket ?? undefined,
      over: over.signal,
      timeoutMs: limits.timeoutMs,
    });
    const headers = { ...request.headers, "content-length": String(request.body.length) };
    const result = await exchange(agent, request, { body, headers }, limits);
    over.abort();
    await agent.destroy();
    live.delete(agent);
    return judgeCut(fault, result);
  };

  return {
    async send(request, limits) {
      if (closed) {
        const error = outcomeOfError(new TransportError("ERR_CLOSED", "the transport has been closed"));
        return { ...error, responseBody: new Uint8Array(), durationMs: 0 };
      }
      return isWireFault(request.fault)
        ? sendWithFault(request.fault, request, limits)
        : exchange(agentFor(request.ca), request, request, limits);
    },
    async close() {
      closed = true;
      const destroyed = [...live].map((agent) => agent.destroy());
      for (const socket of pending) {
        socket.destroy();
      }
      await Promise.all(destroyed);
    },
  };
}

function parseConnectTimeout(ms = 5_000): number {
  if (!Number.isInteger(ms) || ms < 1 || ms > 3_600_000) {
    throw new TypeError(`createTransport({ connectTimeoutMs }) must be 1 to 3600000 milliseconds, not ${ms}`);
  }
  return ms;
}

/**
 * Refusing half a message is not refusing the message: it goes out again, as after any cut connection. Accepting half
 * of one stays a success, for everyone to see.
 */
function judgeCut(fault: WireFault, result: AttemptResult): AttemptResult {
  if (fault === "slow_body" || result.outcome !== "rejected" || result.status === undefined) {
    return result;
  }
  const message = `${cutOnPurpose(fault)}; the endpoint answered ${result.status}`;
  return { ...result, outcome: "network", code: CUT_CODE, message };
}

function keyOf(ca: AttemptRequest["ca"]): string {
  return ca === undefined ? "" : [ca].flat().join("\n");
}

function trustFor(ca: AttemptRequest["ca"]): (() => SecureContext) | undefined {
  if (ca === undefined) {
    return undefined;
  }
  let context: SecureContext | undefined;
  return () => (context ??= trustOnly(ca));
}
