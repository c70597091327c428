import type { Probe } from "../probe/probe.ts";
import { freshText } from "./messages.ts";

/** Well-formed digits that are the digest of nothing anyone sends. */
export const MADE_UP_SIGNATURE = "0123456789abcdef0123456789abcdef01234567";

/** A track message whose signature `fits`. Every message has another id, and so another signature. */
export function trackSignedSo(
  probe: Probe,
  fits: (signature: string) => boolean,
  fields?: Readonly<Record<string, unknown>>,
): string {
  for (;;) {
    const body = freshText("track", fields);
    if (fits(probe.sign(body))) return body;
  }
}

/** Whether a byte of a signature is below 0x10, so that its first hex digit is zero. Three of four signatures have one. */
export function hasLeadingZero(signature: string): boolean {
  return /^(?:..)*0./.test(signature);
}
