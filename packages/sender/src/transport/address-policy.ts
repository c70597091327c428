import { describeValue } from "@countersign/protocol";
import ipaddr from "ipaddr.js";
import { TransportError } from "./transport-error.ts";

/** Options of the address policy, beyond the addresses that may never be called. */
export interface AddressPolicyOptions {
  /**
   * Call public addresses only: refuse private ranges, loopback, the unspecified address, carrier-grade NAT,
   * unique-local, multicast, broadcast and reserved ranges. For a sender whose URLs come from its customers. Default: false.
   */
  readonly blockPrivateNetworks?: boolean | undefined;
}

// Metadata and control services of cloud hosts outside the link-local ranges. They give the machine's
// credentials to every program that asks.
const METADATA_RANGES: readonly string[] = [
  "100.100.100.200/32", // Alibaba
  "168.63.129.16/32", // Azure
  "192.0.0.192/32", // Oracle
  "fd00:ec2::/32", // AWS
  "fd00:42::42/128", // Scaleway
  "fd20:ce::254/128", // Google
];

const metadata = METADATA_RANGES.map((range) => ipaddr.parseCIDR(range));
const nat64 = ipaddr.IPv6.parseCIDR("64:ff9b::/96");
const localNat64 = ipaddr.IPv6.parseCIDR("64:ff9b:1::/48");
const globalUnicast = ipaddr.IPv6.parseCIDR("2000::/3");

// Where IPv6 forms carry an IPv4 address that a translator, tunnel or the kernel will call: the offset of its bytes.
const embeddings: readonly { range: [ipaddr.IPv6, number]; offset: number; inverted?: boolean }[] = [
  { range: ipaddr.IPv6.parseCIDR("::/96"), offset: 12 }, // IPv4-compatible
  { range: ipaddr.IPv6.parseCIDR("::ffff:0:0/96"), offset: 12 }, // IPv4-mapped
  { range: ipaddr.IPv6.parseCIDR("::ffff:0:0:0/96"), offset: 12 }, // stateless translation
  { range: nat64, offset: 12 },
  { range: localNat64, offset: 12 }, // NAT64 with a local prefix (RFC 8215), of /96
  { range: ipaddr.IPv6.parseCIDR("2002::/16"), offset: 2 }, // 6to4
  { range: ipaddr.IPv6.parseCIDR("2001::/32"), offset: 4 }, // Teredo: its server,
  { range: ipaddr.IPv6.parseCIDR("2001::/32"), offset: 12, inverted: true }, // and its client
];

// A local NAT64 prefix may be shorter. Its address then lies around byte 8, which is not used (RFC 6052, 2.2).
const SHORT_NAT64_OFFSETS: readonly (readonly number[])[] = [
  [6, 7, 9, 10], // /48
  [7, 9, 10, 11], // /56
  [9, 10, 11, 12], // /64
];

/**
 * Why an address may not be called; `undefined` when it may.
 *
 * Link-local and cloud metadata addresses never may, in any notation that reaches them: IPv4-mapped, NAT64, 6to4 and
 * the like are judged by the IPv4 address inside as well.
 *
 * @param address An IP address in text, as a resolver returns it; an IPv6 zone is ignored.
 */
export function refusedAddress(address: string, options: AddressPolicyOptions = {}): string | undefined {
  if (!ipaddr.isValid(address)) {
    return "is not an IP address";
  }
  const parsed = ipaddr.parse(address);
  const forms = [parsed, ...embeddedAddresses(parsed)];
  if (forms.some(isLinkLocalOrMetadata)) {
    return "is a link-local or cloud metadata address, which is never called";
  }
  if (options.blockPrivateNetworks === true && !isPublic(parsed, forms)) {
    return "is not a public address, and blockPrivateNetworks is set";
  }
  return undefined;
}

/**
 * @param what The function that was given the options: `createTransport`.
 * @throws TypeError when `blockPrivateNetworks` is neither true nor false: the text of an environment variable would block nothing
 */
export function checkAddressPolicy(
  what: string,
  { blockPrivateNetworks = false }: AddressPolicyOptions,
): void {
  if (typeof blockPrivateNetworks === "boolean") return;
  throw new TypeError(
    `${what}({ blockPrivateNetworks }) must be true or false, not ${describeValue(blockPrivateNetworks)}.`,
  );
}

/**
 * Checks that an address may be called, as the sender does before each connection: for programs that call the same URLs. Link-local
 * and cloud metadata addresses never may, in any notation; others only if the options allow them.
 *
 * @param hostname What resolved to the address, or the address itself.
 * @param address An IP address in text, as a resolver returns it.
 * @throws TransportError `ERR_ADDRESS_BLOCKED` when it may not; the message says why.
 * @throws TypeError when `blockPrivateNetworks` is neither true nor false.
 * @example
 * ```ts
 * assertCallable("example.com", "169.254.169.254"); // throws: a metadata address
 * ```
 */
export function assertCallable(hostname: string, address: string, options: AddressPolicyOptions = {}): void {
  checkAddressPolicy("assertCallable", options);
  assertAllowed(hostname, address, options);
}

/** The same for options that are known to be valid. */
export function assertAllowed(hostname: string, address: string, options: AddressPolicyOptions): void {
  const reason = refusedAddress(address, options);
  if (reason === undefined) return;
  const subject = hostname === address ? address : `${hostname} resolves to ${address}, which`;
  throw new TransportError("ERR_ADDRESS_BLOCKED", `${subject} ${reason}`);
}

function embeddedAddresses(address: ipaddr.IPv4 | ipaddr.IPv6): ipaddr.IPv4[] {
  if (!(address instanceof ipaddr.IPv6)) {
    return [];
  }
  const bytes = address.toByteArray();
  const short = address.match(localNat64) ? SHORT_NAT64_OFFSETS : [];
  const inShortPrefixes = short.map(
    (offsets) => new ipaddr.IPv4(offsets.map((offset) => bytes[offset] ?? 0)),
  );
  const inTunnel = isIsatap(bytes) ? [new ipaddr.IPv4(bytes.slice(12))] : [];
  return [...inShortPrefixes, ...inTunnel, ...embeddedAtOffset(address, bytes)];
}

/** An ISATAP interface identifier (RFC 5214, 6.1), in any network: the kernel tunnels to the IPv4 address in it. */
function isIsatap(bytes: readonly number[]): boolean {
  const [first = 0, second, third, fourth] = bytes.slice(8, 12);
  return (first & 0xfd) === 0 && second === 0 && third === 0x5e && fourth === 0xfe;
}

function embeddedAtOffset(address: ipaddr.IPv6, bytes: readonly number[]): ipaddr.IPv4[] {
  return embeddings
    .filter(({ range }) => address.match(range))
    .map(({ offset, inverted }) => {
      const embedded = bytes.slice(offset, offset + 4);
      return new ipaddr.IPv4(inverted === true ? embedded.map((byte) => byte ^ 0xff) : embedded);
    });
}

function isLinkLocalOrMetadata(address: ipaddr.IPv4 | ipaddr.IPv6): boolean {
  return (
    address.range() === "linkLocal" ||
    metadata.some(([range, bits]) => range.kind() === address.kind() && address.match(range, bits))
  );
}

function isPublic(
  address: ipaddr.IPv4 | ipaddr.IPv6,
  forms: readonly (ipaddr.IPv4 | ipaddr.IPv6)[],
): boolean {
  if (!(address instanceof ipaddr.IPv6)) {
    return address.range() === "unicast";
  }
  // A NAT64 network reaches public IPv4 hosts under this prefix. The other translations and tunnels have no such use.
  if (address.match(nat64)) {
    return forms.every((form) => form === address || form.range() === "unicast");
  }
  return address.range() === "unicast" && address.match(globalUnicast) && !isIsatap(address.toByteArray());
}
