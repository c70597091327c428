import type { LookupAddress } from "node:dns";
import type { Socket } from "node:net";
import { performance } from "node:perf_hooks";
import { Remembered } from "./remembered.ts";

/** How long an address that took no connection is tried last, in milliseconds. */
const AVOIDED_MS = 60_000;

/**
 * Addresses that took no connection within the last minute. Node tries the addresses of a name in their order, and waits a second
 * for each: without this, one that is dead, such as each of IPv6 where that leads nowhere, would hold up every new connection.
 */
export class FailedAddresses {
  readonly #failedAt = new Remembered<number>();

  /** Remembers which addresses a socket tries in vain. */
  watch(socket: Socket): void {
    const note = (address: string, port: number): void => {
      this.#failedAt.note(`${address} ${port}`, performance.now());
    };
    socket.on("connectionAttemptFailed", note).on("connectionAttemptTimeout", note);
  }

  /** The addresses in their order, those that failed behind the others. */
  last(addresses: readonly LookupAddress[], port: number): readonly LookupAddress[] {
    const since = performance.now() - AVOIDED_MS;
    const failed = addresses.filter(
      ({ address }) => (this.#failedAt.get(`${address} ${port}`) ?? -Infinity) > since,
    );
    return failed.length === 0 ? addresses : [...addresses.filter((one) => !failed.includes(one)), ...failed];
  }
}
