import { hmac as nobleHmac } from "@noble/hashes/hmac.js";
import { sha1 } from "@noble/hashes/legacy.js";
import { sha256 } from "@noble/hashes/sha2.js";
import type { HashName } from "./hmac-node.ts";

/** HMAC in plain JavaScript, synchronous: for runtimes without `node:crypto` (workerd, edge, browser). */
export function hmac(hash: HashName, key: Uint8Array, data: Uint8Array): Uint8Array {
  return nobleHmac(hash === "sha1" ? sha1 : sha256, key, data);
}

/** Whether two digests are equal, in time that depends on their length alone. */
export function equalDigests(a: Uint8Array, b: Uint8Array): boolean {
  if (a.length !== b.length) return false;
  let difference = 0;
  for (const [index, byte] of a.entries()) difference |= byte ^ (b[index] ?? 0);
  return difference === 0;
}
