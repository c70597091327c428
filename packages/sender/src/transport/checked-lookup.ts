import type { LookupAddress } from "node:dns";
import type { LookupFunction } from "node:net";
import { errorOf } from "@countersign/protocol";
import { type AddressPolicyOptions, assertAllowed, refusedAddress } from "./address-policy.ts";
import { type ResolveHost, systemResolver } from "./resolve-host.ts";

/** How names are resolved, and which addresses may be called. */
export interface LookupOptions extends AddressPolicyOptions {
  readonly resolveHost: ResolveHost;
}

/**
 * Answers only with addresses that may be called, so that what was checked is what is connected to.
 *
 * @param inOrder Sorts them into the order to try.
 */
export function checkedLookup(
  options: LookupOptions,
  inOrder: (addresses: readonly LookupAddress[]) => readonly LookupAddress[] = (addresses) => addresses,
): LookupFunction {
  return (hostname, { all, family }, callback) => {
    options
      .resolveHost(hostname)
      .then((addresses) => {
        const wanted = addresses.filter((address) =>
          family !== 4 && family !== 6 ? true : address.family === family,
        );
        return callable(hostname, inOrder(wanted), options);
      })
      .then(
        (addresses) => {
          const [first] = addresses;
          if (all === true) {
            callback(null, addresses);
          } else {
            callback(null, first.address, first.family);
          }
        },
        (error: unknown) => callback(errorOf(error), []),
      );
  };
}

function callable(
  hostname: string,
  addresses: readonly LookupAddress[],
  options: LookupOptions,
): [LookupAddress, ...LookupAddress[]] {
  const [first, ...others] = addresses.filter(
    ({ address }) => refusedAddress(address, options) === undefined,
  );
  if (first !== undefined) {
    return [first, ...others];
  }
  const [refused] = addresses;
  if (refused !== undefined) {
    assertAllowed(hostname, refused.address, options);
  }
  throw Object.assign(new Error(`${hostname} has no address`), { code: "ENOTFOUND" });
}

/**
 * The `lookup` option of `net.connect()` and the like, for programs that connect to the same hosts as a sender in their process: it
 * waits in one queue with the sender's lookups, so that names that the DNS server does not answer for keep no delivery waiting, and
 * answers with no address that may never be called.
 *
 * @param connectTimeoutMs How long the program waits for a connection, in milliseconds.
 * @example
 * ```ts
 * import { connect } from "node:net";
 *
 * const socket = connect({ host: "example.com", port: 443, lookup: lookupCallable(2_000) });
 * ```
 */
export function lookupCallable(connectTimeoutMs: number): LookupFunction {
  return checkedLookup({ resolveHost: systemResolver(connectTimeoutMs) });
}
