import { isIP } from "node:net";
import { domainToASCII } from "node:url";
import { nameKind, quote } from "@countersign/protocol";
import ipaddr from "ipaddr.js";
import type { AddressPolicyOptions } from "./address-policy.ts";

/** The way out of a network that lets nothing out directly. */
export interface ProxyOptions {
  /**
   * URL of an HTTP proxy, `http:` or `https:`, that endpoints are called through; a user name and a password in it are sent to the
   * proxy. The proxy is asked for a tunnel (CONNECT) to each endpoint, also for plain HTTP: it sees host and port, its own answers
   * are not taken for those of the endpoint, and certificates are verified as without it. It resolves the host names, so
   * `blockPrivateNetworks` is refused with it. Default: none.
   */
  readonly proxy?: string | undefined;
  /**
   * Hosts that are called without the proxy, in the form of NO_PROXY: a text with commas, or a list. A name stands for its
   * subdomains, too; addresses and ranges such as `10.0.0.0/8` are compared with those in URLs. This machine is always called
   * without the proxy. Default: none.
   */
  readonly noProxy?: string | readonly string[] | undefined;
}

/** With the option that a proxy excludes. */
export type GuardedProxyOptions = ProxyOptions & AddressPolicyOptions;

/** What the caller knows an option by, as the subject of a sentence. */
export type NameOf = (option: keyof ProxyOptions) => string;

/** A proxy, and who is called through it. */
export interface Proxy {
  /** Its URL without credentials, for messages. */
  readonly name: string;
  readonly host: string;
  readonly port: number;
  /** Whether the connection to it is TLS itself. */
  readonly secure: boolean;
  /** The `Proxy-Authorization` header, if the URL has credentials. */
  readonly authorization: string | undefined;
  /** Whether it stands between this machine and a host. */
  isFor(hostname: string): boolean;
}

/** Whether the host of a URL, without brackets, is meant. */
type HostTest = (hostname: string) => boolean;
type Address = ipaddr.IPv4 | ipaddr.IPv6;
type Range = [network: Address, bits: number];

const EXAMPLE = "http://proxy.example:3128";

/** Hosts that a proxy would take for itself. A connection to the unspecified address leads to this machine, too. */
const THIS_MACHINE = ["localhost", "127.0.0.0/8", "::1", "0.0.0.0", "::"];

/**
 * Checks the options about a proxy, for programs that have them under other names.
 *
 * @param nameOf What the caller knows an option by, as the subject of a sentence: `createSender({ proxy })`, or `--proxy`.
 * @throws TypeError when one is wrong, or `blockPrivateNetworks` is set beside a proxy. It does not repeat the URL, which may have a
 *   password.
 * @example
 * ```ts
 * checkProxy({ proxy: "proxy.example:3128" }, (option) => `--${option}`); // throws: --proxy must be the URL of an HTTP proxy
 * ```
 */
export function checkProxy(options: GuardedProxyOptions, nameOf: NameOf): void {
  parseProxy(options, nameOf);
}

/** What a function calls its options in errors. */
export function optionsOf(what: string): NameOf {
  return (option) => `${what}({ ${option} })`;
}

/**
 * Reads the options about a proxy.
 *
 * @returns The proxy; `undefined` if there is none.
 * @throws TypeError as `checkProxy` does.
 */
export function parseProxy(options: GuardedProxyOptions, nameOf: NameOf): Proxy | undefined {
  const { proxy, noProxy = [], blockPrivateNetworks } = options;
  const named = entriesOf(noProxy, nameOf).map((entry) => testOf(entry, nameOf));
  if (proxy === undefined) return undefined;
  const direct = [...THIS_MACHINE.map((entry) => testOf(entry, nameOf)), ...named];
  const name = nameOf("proxy");
  const { protocol, hostname, port, username, password } = urlOf(proxy, name);
  if (blockPrivateNetworks === true) {
    throw new TypeError(
      `${name} cannot be combined with blockPrivateNetworks (--block-private-networks): the proxy resolves names, so only the proxy can refuse addresses. Forbid private networks there, and leave it out here.`,
    );
  }
  const secure = protocol === "https:";
  return {
    name: `${protocol}//${hostname}${port && `:${port}`}`,
    host: hostname.replaceAll(/^\[|\]$/gu, ""),
    port: Number(port || (secure ? 443 : 80)),
    secure,
    authorization: username || password ? basic(username, password, name) : undefined,
    isFor: (host) => !direct.some((means) => means(withoutRootDot(host))),
  };
}

function urlOf(proxy: unknown, name: string): URL {
  if (typeof proxy !== "string") {
    throw new TypeError(`${name} must be a URL as text, such as "${EXAMPLE}", not ${nameKind(proxy)}.`);
  }
  if (proxy.trim() === "")
    throw new TypeError(
      `${name} is empty. Give the URL of an HTTP proxy, such as "${EXAMPLE}", or leave it out.`,
    );
  const url = URL.canParse(proxy) ? new URL(proxy) : undefined;
  if (url?.protocol !== "http:" && url?.protocol !== "https:") {
    throw new TypeError(
      `${name} must be the URL of an HTTP proxy, with http:// or https://, such as "${EXAMPLE}".`,
    );
  }
  if (url.pathname !== "/" || url.search !== "" || url.hash !== "") {
    throw new TypeError(`${name} has something after the host and the port. Leave it out: "${EXAMPLE}".`);
  }
  return url;
}

function basic(username: string, password: string, name: string): string {
  try {
    const credentials = `${decodeURIComponent(username)}:${decodeURIComponent(password)}`;
    return `Basic ${Buffer.from(credentials).toString("base64")}`;
  } catch (error) {
    throw new TypeError(`${name} has a % in its user name or password that must be written as %25.`, {
      cause: error,
    });
  }
}

function entriesOf(noProxy: unknown, nameOf: NameOf): readonly string[] {
  const texts: readonly unknown[] = Array.isArray(noProxy) ? noProxy : [noProxy];
  return texts.flatMap((text) => {
    if (typeof text === "string") return text.split(/[\s,]+/u).filter((entry) => entry !== "");
    throw new TypeError(
      `${nameOf("noProxy")} must be a text or a list of texts, such as "localhost,.internal", not ${nameKind(text)}.`,
    );
  });
}

/** What an entry of NO_PROXY stands for. */
function testOf(entry: string, nameOf: NameOf): HostTest {
  if (entry === "*") return () => true;
  const text = entry.replaceAll(/^\[|\]$/gu, "");
  const range = rangeOf(text);
  if (range !== undefined) return inRange(...range);
  const name = withoutRootDot(text.replace(/^\*?\./u, ""));
  const ascii = /^[\p{L}\p{M}\p{N}_-]+(?:\.[\p{L}\p{M}\p{N}_-]+)*$/u.test(name) ? domainToASCII(name) : "";
  if (ascii === "") {
    throw new TypeError(
      `${nameOf("noProxy")} has ${quote(entry)}. Give the name of a host, an address, or a range such as 10.0.0.0/8, without http:// and a port.`,
    );
  }
  return (hostname) => hostname === ascii || hostname.endsWith(`.${ascii}`);
}

/** A range, or an address as the range of it alone. */
function rangeOf(text: string): Range | undefined {
  if (ipaddr.isValidCIDR(text)) return ofIpv4(ipaddr.parseCIDR(text));
  if (isIP(text) === 0) return undefined;
  const address = ipaddr.process(text);
  return [address, 8 * address.toByteArray().length];
}

/** Bits before the IPv4 address in an IPv6 address that is mapped to it. */
const MAPPED_BITS = 96;

/** A range of mapped addresses as that of the IPv4 addresses in them, which are what hosts are compared as. */
function ofIpv4([network, bits]: Range): Range {
  const isMapped = network instanceof ipaddr.IPv6 && network.isIPv4MappedAddress() && bits >= MAPPED_BITS;
  return isMapped ? [network.toIPv4Address(), bits - MAPPED_BITS] : [network, bits];
}

function inRange(network: Address, bits: number): HostTest {
  return (hostname) => {
    if (isIP(hostname) === 0) return false;
    const address = ipaddr.process(hostname);
    return address.kind() === network.kind() && address.match(network, bits);
  };
}

/** A host name as it is compared: `example.com.` is `example.com`. */
export function withoutRootDot(hostname: string): string {
  return hostname.replace(/\.$/u, "");
}
