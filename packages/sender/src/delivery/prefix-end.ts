/** The last code point. */
const LAST = 0x10_ffff;

/**
 * The first text behind all that start with a prefix, in the order of code points, which is that of their bytes in UTF-8.
 *
 * @returns `undefined` if there is none: nothing comes behind what starts with the last code point.
 */
export function prefixEnd(prefix: string): string | undefined {
  // As stores keep it: a lone surrogate is U+FFFD.
  const points = Array.from(Buffer.from(prefix).toString(), (character) => character.codePointAt(0) ?? 0);
  while (points.at(-1) === LAST) points.pop();
  const last = points.pop();
  if (last === undefined) return undefined;
  // Surrogates, which follow D7FF, are no code points of a text.
  return String.fromCodePoint(...points, last === 0xd7ff ? 0xe000 : last + 1);
}
