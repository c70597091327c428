const LONE_SURROGATE = /\p{Surrogate}/u;

/**
 * Whether every character of a text is whole, so that a store gives back the text that it was given. In UTF-8, which stores use,
 * all lone surrogates would be the same character.
 */
export function isWellFormed(text: string): boolean {
  return !LONE_SURROGATE.test(text);
}
