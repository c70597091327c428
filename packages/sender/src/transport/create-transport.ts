import { checkFunction, checkOptionNames, PROXY_SYNONYMS, type OptionNames } from "@countersign/protocol";
import { Agent } from "undici";
import { type AddressPolicyOptions, checkAddressPolicy } from "./address-policy.ts";
import { Agents } from "./agents.ts";
import { MORE_ADDRESSES } from "../explain/no-answer-codes.ts";
import { outcomeOfError } from "./classify.ts";
import { FailedAddresses } from "./failed-addresses.ts";
import { exchangeAlone } from "./exchange-alone.ts";
import { exchange } from "./exchange.ts";
import { optionsOf, parseProxy, type ProxyOptions } from "./proxy.ts";
import { oneQuestionPerHost, systemResolver, type ResolveHost } from "./resolve-host.ts";
import { TransportError } from "./transport-error.ts";
import type { Transport } from "./transport.ts";

/** Settings of {@link createTransport}. */
export interface TransportOptions extends AddressPolicyOptions, ProxyOptions {
  /**
   * Resolves host names instead of the operating system. The addresses it gives are checked like any others, each
   * time a connection is opened. With a `proxy`: its name, and those of `noProxy`.
   */
  readonly resolveHost?: ResolveHost | undefined;
  /**
   * Milliseconds after which an attempt to connect is cancelled, TLS handshake included. An attempt ends by
   * its own `timeoutMs`; this limits how long its connection may stay after that. With a `proxy`, the connection to it may take
   * half as long, and then the tunnel and the handshake in it each as long. Default: 5,000.
   */
  readonly connectTimeoutMs?: number | undefined;
}

const OPTION_NAMES: OptionNames<TransportOptions> = {
  blockPrivateNetworks: true,
  proxy: PROXY_SYNONYMS,
  noProxy: true,
  resolveHost: true,
  connectTimeoutMs: true,
};

/**
 * The transport that calls endpoints over the network, HTTP/1.1 with connections kept alive per origin and `ca`.
 *
 * - TLS certificates are verified, always; an endpoint whose certificate is not accepted sees no request (spec 5.2).
 * - Addresses are checked after resolution, when the connection is opened, and the connection goes to the
 *   checked address.
 * - With a `proxy`, endpoints are called through it. What it does not let through is tried again, as other failures of the network.
 * - A connection is used for a minute at most, so that messages follow a name that leads elsewhere.
 * - Redirects are not followed. At most 16 KiB of a response's headers and of its body are held.
 *
 * @throws TypeError when an option is wrong, or does not exist.
 * @throws RuntimeError where a runtime has something else in place of undici, as Bun has.
 * @throws WebAssemblyError where there is no WebAssembly, as on Node with `--jitless`, or no room for its memory, as with `ulimit -v`.
 * @example
 * ```ts
 * const transport = createTransport({ blockPrivateNetworks: true });
 * const result = await transport.send({ url, headers, body }, { timeoutMs: 5_000 });
 * if (result.outcome === "success") await transport.close();
 * ```
 */
export function createTransport(options: TransportOptions = {}): Transport {
  checkOptionNames("createTransport()", options, OPTION_NAMES);
  checkAddressPolicy("createTransport", options);
  checkFunction("createTransport({ resolveHost })", options.resolveHost);
  assertUndici();
  const connectTimeoutMs = parseConnectTimeout(options.connectTimeoutMs);
  const { resolveHost } = options;
  const agents = new Agents({
    proxy: parseProxy(options, optionsOf("createTransport")),
    blockPrivateNetworks: options.blockPrivateNetworks,
    resolveHost: resolveHost ? oneQuestionPerHost(resolveHost) : systemResolver(connectTimeoutMs),
    failed: new FailedAddresses(),
    connectTimeoutMs,
    pending: new Set(),
  });
  let closed = false;
  return {
    send(request, limits) {
      if (closed) {
        const error = new TransportError("ERR_CLOSED", "the transport has been closed");
        return Promise.resolve({ ...outcomeOfError(error), responseBody: new Uint8Array(), durationMs: 0 });
      }
      return request.writeBody === undefined
        ? exchange(agents.of(request.ca), request, request, limits)
        : exchangeAlone(request.writeBody, agents, request, limits);
    },
    async close() {
      closed = true;
      await agents.close();
    },
  };
}

/** This is not Node. */
class RuntimeError extends Error {
  override readonly name = "RuntimeError";
}

/** undici cannot read responses in this process. */
class WebAssemblyError extends Error {
  override readonly name = "WebAssemblyError";

  constructor(lack: string, advice: string, cause?: unknown) {
    super(
      `The sender needs WebAssembly, by which undici, its HTTP client, reads responses, and this process has ${lack}. ${advice}`,
      { cause },
    );
  }
}

/** What this file uses of WebAssembly, of which the types of Node say nothing. */
interface WebAssemblyLike {
  readonly Memory: new (size: { readonly initial: number }) => object;
}

// Each attempt would fail otherwise, and be taken for one that the endpoint rejected, or that the network did not carry.
function assertUndici(): void {
  assertWebAssembly((globalThis as { readonly WebAssembly?: WebAssemblyLike }).WebAssembly);
  if (typeof (Agent.prototype as Partial<Agent>).dispatch === "function") return;
  throw new RuntimeError(
    "The sender runs on Node only: this runtime has another module in place of undici, the HTTP client. " +
      "To test a receiver here, make requests with signedRequest() of @countersign/core/testing.",
  );
}

/** Asked once: what is reserved is given back later. */
let hasMemory = false;

function assertWebAssembly(available: WebAssemblyLike | undefined): void {
  if (hasMemory) return;
  if (available === undefined)
    throw new WebAssemblyError("none", "Start Node without --jitless and without --no-expose-wasm.");
  try {
    // As undici does with its first connection. Whatever its size, Node reserves some 10 GB of addresses for it.
    void new available.Memory({ initial: 1 });
    hasMemory = true;
  } catch (cause) {
    throw new WebAssemblyError(
      "no addresses left for its memory, since a limit is set on them",
      MORE_ADDRESSES,
      cause,
    );
  }
}

function parseConnectTimeout(ms = 5_000): number {
  if (!Number.isInteger(ms) || ms < 1 || ms > 3_600_000) {
    throw new TypeError(`createTransport({ connectTimeoutMs }) must be 1 to 3600000 milliseconds, not ${ms}`);
  }
  return ms;
}
