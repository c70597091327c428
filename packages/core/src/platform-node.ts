import { Buffer, isUtf8 } from "node:buffer";
import { createHmac, createSecretKey, hash, timingSafeEqual, type KeyObject } from "node:crypto";
import { debuglog, type DebugLogger } from "node:util";

/** The two hash functions this package computes: SHA-1 to verify, SHA-256 to explain a mismatch and to name deliveries. */
export type HashName = "sha1" | "sha256";

/** A secret as it is hashed with. */
interface Key {
  readonly object: KeyObject;
  /** What RFC 2104 hashes before the data, and before the digest of that. */
  readonly inner: Uint8Array;
  readonly outer: Uint8Array;
}

// A secret is used for every request. Made into a key once, it costs a third less to hash with.
const keys = new Map<string, Key>();
const MAX_KEYS = 1_000;

/** The block of SHA-1, in bytes. A longer secret is hashed first. */
const BLOCK = 64;

function keyOf(secret: string): Key {
  let key = keys.get(secret);
  if (key === undefined) {
    // A receiver of many tenants must not keep the secrets of all of them.
    if (keys.size >= MAX_KEYS) keys.clear();
    const bytes = Buffer.from(secret);
    const padded = new Uint8Array(BLOCK);
    padded.set(bytes.length > BLOCK ? hash("sha1", bytes, "buffer") : bytes);
    key = {
      object: createSecretKey(bytes),
      inner: padded.map((byte) => byte ^ 0x36),
      outer: padded.map((byte) => byte ^ 0x5c),
    };
    keys.set(secret, key);
  }
  return key;
}

/** HMAC by the runtime's OpenSSL (Node, Bun, Deno). `platform-portable` is its counterpart elsewhere. */
export function hmac(name: HashName, key: string | Uint8Array, data: Uint8Array): Uint8Array {
  return createHmac(name, typeof key === "string" ? keyOf(key).object : key)
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
  computed.write(signatureOf(secret, data), "hex");
  // Whatever is no hex digit ends the writing, and would leave a part of an earlier digest.
  return expected.write(hex, "hex") === expected.length && timingSafeEqual(expected, computed);
}

/** The largest body that is hashed together with its key. Beyond it, copying costs more than it saves. */
const MAX_AT_ONCE = 8_192;

const innerText = Buffer.alloc(BLOCK + MAX_AT_ONCE);
const outerText = Buffer.alloc(BLOCK + expected.length);

/**
 * HMAC-SHA1 in hex digits. `createHmac` makes an object that the garbage collector has to finalize, which costs a small body more
 * than its hash: two hashes at once are the same function (RFC 2104, section 2).
 */
export function signatureOf(secret: string, data: Uint8Array): string {
  const { object, inner, outer } = keyOf(secret);
  if (data.length > MAX_AT_ONCE) return createHmac("sha1", object).update(data).digest("hex");
  innerText.set(inner);
  innerText.set(data, BLOCK);
  outerText.set(outer);
  outerText.write(hash("sha1", innerText.subarray(0, BLOCK + data.length), "hex"), BLOCK, "hex");
  return hash("sha1", outerText, "hex");
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
