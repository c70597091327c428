import type { DeliveryDetail } from "../../shapes/types.ts";

/** The exact bytes of a delivery's body. */
export function bytesOf({ body, bodyBase64 }: Pick<DeliveryDetail, "body" | "bodyBase64">): Uint8Array {
  if (bodyBase64 === undefined) return new TextEncoder().encode(body);
  return Uint8Array.from(atob(bodyBase64), (character) => character.charCodeAt(0));
}

/** Bytes as two hexadecimal digits each. */
export function hex(bytes: Uint8Array): readonly string[] {
  return Array.from(bytes, (byte) => byte.toString(16).padStart(2, "0"));
}

const PER_LINE = 16;

/** Sixteen bytes a line: where they are, their digits, and what is printable of them. */
export function hexDump(bytes: Uint8Array): string {
  const lines: string[] = [];
  for (let at = 0; at < bytes.length; at += PER_LINE) {
    const part = bytes.subarray(at, at + PER_LINE);
    const digits = hex(part)
      .join(" ")
      .padEnd(PER_LINE * 3 - 1);
    const text = Array.from(part, (byte) =>
      byte >= 0x20 && byte < 0x7f ? String.fromCharCode(byte) : ".",
    ).join("");
    lines.push(`${at.toString(16).padStart(6, "0")}  ${digits}  ${text}`);
  }
  return lines.join("\n");
}
