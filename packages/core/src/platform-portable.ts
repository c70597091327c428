import { hmac as nobleHmac } from "@noble/hashes/hmac.js";
import { sha1 } from "@noble/hashes/legacy.js";
import { sha256 } from "@noble/hashes/sha2.js";
import type { HashName } from "./platform-node.ts";

const encoder = new TextEncoder();
// ignoreBOM keeps a byte order mark in the text, so that no byte of a signed body silently disappears.
const decoder = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true });

/** HMAC in plain JavaScript, synchronous: for runtimes without `node:crypto` (workerd, edge, browser). */
export function hmac(hash: HashName, key: string | Uint8Array, data: Uint8Array): Uint8Array {
  return nobleHmac(hash === "sha1" ? sha1 : sha256, typeof key === "string" ? toUtf8(key) : key, data);
}

/** Whether two digests are equal, in time that depends only on their length. */
export function equalDigests(a: Uint8Array, b: Uint8Array): boolean {
  if (a.length !== b.length) return false;
  let difference = 0;
  for (const [index, byte] of a.entries()) difference |= byte ^ (b[index] ?? 0);
  return difference === 0;
}

/** HMAC-SHA1 in hex digits. */
export function signatureOf(secret: string, data: Uint8Array): string {
  return toHex(hmac("sha1", secret, data));
}

/** Whether 40 hex digits are the HMAC-SHA1 of bytes, in time that does not depend on the digits. */
export function isSignedWith(secret: string, data: Uint8Array, hex: string): boolean {
  return equalDigests(hmac("sha1", secret, data), fromHex(hex));
}

/** The UTF-8 bytes of a string. */
export function toUtf8(text: string): Uint8Array<ArrayBuffer> {
  return encoder.encode(text);
}

/** The text of UTF-8 bytes, a byte order mark included, or undefined where they are not UTF-8. */
export function fromUtf8(bytes: Uint8Array): string | undefined {
  try {
    return decoder.decode(bytes);
  } catch {
    return undefined;
  }
}

/** Lower-case hex digits, two for each byte. */
export function toHex(bytes: Uint8Array): string {
  let hex = "";
  for (const byte of bytes) hex += byte.toString(16).padStart(2, "0");
  return hex;
}

/** The bytes of an even number of hex digits, which the caller has checked. */
export function fromHex(hex: string): Uint8Array {
  const bytes = new Uint8Array(hex.length / 2);
  for (const index of bytes.keys()) bytes[index] = Number.parseInt(hex.slice(index * 2, index * 2 + 2), 16);
  return bytes;
}

/** There is no NODE_DEBUG here. */
export const debug: { (format: string, text: string): void; readonly enabled: boolean } = Object.assign(
  () => {},
  { enabled: false },
);
