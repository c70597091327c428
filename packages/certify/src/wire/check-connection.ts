import type { Socket } from "node:net";

/**
 * Ends a socket before it connects to an address that may not be called. A name that has no address ends it without that.
 *
 * @param socket One that does not know yet where it connects to.
 * @param checkAddress Throws for an address that may not be called; takes the name and one of its addresses.
 * @example
 * ```ts
 * checkConnection(socket, assertCallable);
 * ```
 */
export function checkConnection(socket: Socket, checkAddress: (host: string, address: string) => void): void {
  // When a name cannot be resolved, it is told with the error, and without an address.
  socket.on("lookup", (failure: Error | null, address, __, host) => {
    if (failure) return;
    try {
      checkAddress(host, address);
    } catch (error) {
      socket.destroy(error as Error);
    }
  });
}
