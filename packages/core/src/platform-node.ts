import { Buffer, isUtf8 } from "node:buffer";
import { createHmac, createSecretKey, timingSafeEqual, type KeyObject } from "node:crypto";
import { debuglog, type DebugLogger } from "node:util";

/** The two hash functions this package computes: SHA-1 to verify, SHA-256 to explain a mismatch and to name deliveries. */
export type HashName = "sha1" | "sha256";

// A secret is used for every request. Made into a key once, it costs a third less to hash with.
const keys = new Map<string, KeyObject>();
const MAX_KEYS = 1_000;

function keyOf(secret: string): KeyObject {
  let key = keys.get(secret);
  if (key === undefined) {
    // A receiver of many tenants must not keep the secrets of all of them.
    if (keys.size >= MAX_KEYS) keys.clear();
    key = createSecretKey(Buffer.from(secret));
    keys.set(secret, key);
  }
  return key;
}

/** HMAC by the runtime's OpenSSL (Node, Bun, Deno). `platform-portable` is its counterpart elsewhere. */
export function hmac(hash: HashName, key: string | Uint8Array, data: Uint8Array): Uint8Array {
  return createHmac(hash, typeof key === "string" ? keyOf(key) : key)
    .update(data)
    .digest();
}

/** Whether two digests are equal, in time that depends only on their length. */
export function equalDigests(a: Uint8Array, b: Uint8Array): boolean {
  return a.length === b.length && timingSafeEqual(a, b);
}

// Digests are compared here, so that a verification makes no buffer.
const expected = Buffer.alloc(20);
const computed = Buffer.alloc(20);

/** Whether 40 hex digits are the HMAC-SHA1 of bytes, in time that does not depend on the digits. */
export function isSignedWith(secret: string, data: Uint8Array, hex: string): boolean {
  computed.write(createHmac("sha1", keyOf(secret)).update(data).digest("hex"), "hex");
  // Whatever is no hex digit ends the writing, and would leave a part of an earlier digest.
  return expected.write(hex, "hex") === expected.length && timingSafeEqual(expected, computed);
}

/** The UTF-8 bytes of a string. A `Buffer`, whose `toString()` returns the same string. */
export function toUtf8(text: string): Uint8Array<ArrayBuffer> {
  return Buffer.from(text);
}

/** The text of UTF-8 bytes, a byte order mark included, or undefined where they are not UTF-8. */
export function fromUtf8(bytes: Uint8Array): string | undefined {
  return isUtf8(bytes) ? asBuffer(bytes).toString() : undefined;
}

/** Lower-case hex digits, two for each byte. */
export function toHex(bytes: Uint8Array): string {
  return asBuffer(bytes).toString("hex");
}

/** The bytes of an even number of hex digits, which the caller has checked. */
export function fromHex(hex: string): Uint8Array {
  return Buffer.from(hex, "hex");
}

function asBuffer(bytes: Uint8Array): Buffer {
  return Buffer.isBuffer(bytes) ? bytes : Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
}

/** Prints to standard error where `NODE_DEBUG` names `countersign`. */
export const debug: DebugLogger = debuglog("countersign");
