/** Every address of a machine, and the one of them that programs on it call. */
const EVERY_ADDRESS: ReadonlyMap<string, string> = /* @__PURE__ */ new Map([
  ["0.0.0.0", "127.0.0.1"],
  ["::", "::1"],
]);

/** Whether this is every address of the machine, which a server can listen on and no client can call. */
export function isEveryAddress(host: string): boolean {
  return EVERY_ADDRESS.has(host);
}

/**
 * The URL at which a program on this machine calls a server.
 *
 * @param host - The address that it listens on.
 * @example
 * ```ts
 * listeningUrl("http", "0.0.0.0", 4010); // "http://127.0.0.1:4010"
 * ```
 */
export function listeningUrl(scheme: "http" | "https", host: string, port: number): string {
  const called = EVERY_ADDRESS.get(host) ?? host;
  return `${scheme}://${called.includes(":") ? `[${called}]` : called}:${port}`;
}
