import { createHmac, timingSafeEqual } from "node:crypto";

/** The two hash functions this package ever computes: SHA-1 to verify, SHA-256 only to explain a mismatch. */
export type HashName = "sha1" | "sha256";

/** HMAC by the runtime's own OpenSSL: Node, Bun and Deno. `hmac-portable` is its counterpart elsewhere. */
export function hmac(hash: HashName, key: Uint8Array, data: Uint8Array): Uint8Array {
  return createHmac(hash, key).update(data).digest();
}

/** Whether two digests are equal, in time that depends on their length alone. */
export function equalDigests(a: Uint8Array, b: Uint8Array): boolean {
  return a.length === b.length && timingSafeEqual(a, b);
}
