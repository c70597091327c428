import { fromUtf8 } from "#platform";

/**
 * A body written again as `JSON.stringify(JSON.parse(body))`, the second form that a signature may match.
 *
 * @returns The text, or undefined where the body is not UTF-8, not JSON, or nested too deep to be written.
 */
export function reserialize(body: Uint8Array): string | undefined {
  const text = fromUtf8(body);
  if (text === undefined) return undefined;
  try {
    return JSON.stringify(JSON.parse(text));
  } catch {
    // A SyntaxError, or the RangeError of a writer that ran out of stack on a hostile depth.
    return undefined;
  }
}
