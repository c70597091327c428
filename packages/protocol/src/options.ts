import { isObject, nameKind, quote } from "./json.ts";
import { synonymHint, synonymOf, type OptionSynonyms } from "./option-synonyms.ts";

export {
  DATA_SYNONYMS,
  DEADLINE_MS_SYNONYMS,
  DELIVER_SYNONYMS,
  ENDPOINT_SYNONYMS,
  EVENT_SYNONYMS,
  EVENTS_SYNONYMS,
  HEADERS_SYNONYMS,
  HOST_SYNONYMS,
  KEEP_FOR_SYNONYMS,
  LEASE_SYNONYMS,
  MAX_BYTES_SYNONYMS,
  ON_REJECTED_SYNONYMS,
  PROPERTIES_SYNONYMS,
  PROXY_SYNONYMS,
  RETRY_SYNONYMS,
  SECRET_SYNONYMS,
  SOURCES_SYNONYMS,
  STORE_SYNONYMS,
  synonymOf,
  TIMEOUT_SYNONYMS,
  TO_SYNONYMS,
  TOKEN_SYNONYMS,
  TRANSPORT_SYNONYMS,
  TTL_SYNONYMS,
  URL_SYNONYMS,
  USER_ID_SYNONYMS,
  WRITE_KEY_SYNONYMS,
  type OptionSynonyms,
} from "./option-synonyms.ts";

/**
 * The names of a type's options, each with its synonyms if it has any. It is checked against the type, so that no option can be
 * forgotten.
 */
export type OptionNames<Options> = Readonly<Record<keyof Options & string, true | OptionSynonyms>>;

/** What to say about a name that does not exist but is likely to be given: `{ timeout: "it is called deadline here" }`. */
export type OptionHints = Readonly<Record<string, string>>;

type Names = Readonly<Record<string, unknown>>;

/**
 * Rejects an options object with an unknown name. The compiler sees no misspelling in JavaScript or in a file, and some would
 * show late: without `secret`, messages go out unsigned.
 *
 * @param what - The function that takes the options, for the error: `createSender()`.
 * @param options - The options as given.
 * @param names - An object whose keys are the known names. A value that is {@link OptionSynonyms} says what else the name is called.
 * @param hints - What to say about names that are likely mistakes.
 * @throws TypeError naming the unknown option, and the one that was probably meant.
 */
export function checkOptionNames(what: string, options: unknown, names: Names, hints?: OptionHints): void {
  if (!isObject(options)) {
    const known = Object.keys(names).join(", ");
    // A text may be a secret, or a URL with a password: it is not shown.
    throw new TypeError(`${what} takes an options object, { ${known} }, not ${nameKind(options)}.`);
  }
  const unknown = Object.keys(options).find((name) => !Object.hasOwn(names, name));
  if (unknown === undefined) return;
  throw new TypeError(`${what}: unknown option ${quote(unknown)}${nameHint(unknown, names, hints)}`);
}

/** The names in an object that are not known. */
export function unknownNames(value: unknown, names: Names): readonly string[] {
  return isObject(value) ? Object.keys(value).filter((name) => !Object.hasOwn(names, name)) : [];
}

/**
 * The end of a sentence about an unknown name: `: it is called secret here.`, `; did you mean "secret"?`, or a list of the
 * known names.
 */
export function nameHint(name: string, names: Names, hints: OptionHints = {}): string {
  if (Object.hasOwn(hints, name)) return `: ${hints[name]}.`;
  const synonym = synonymOf(name, names);
  if (synonym !== undefined) return `: ${synonymHint(synonym, names)}.`;
  const known = Object.keys(names);
  const nearest = nearestName(name, known);
  return nearest === undefined ? `. Known: ${known.join(", ")}.` : `; did you mean ${quote(nearest)}?`;
}

/** The known name that takes the fewest changed letters to reach, if they are few. */
export function nearestName(name: string, known: readonly string[]): string | undefined {
  let best: string | undefined;
  let least = Infinity;
  for (const other of known) {
    const changes = editDistance(name.toLowerCase(), other.toLowerCase());
    if (changes >= least || changes > Math.max(1, other.length / 3)) continue;
    best = other;
    least = changes;
  }
  return best;
}

/**
 * Checks the shape of something that a caller may inject, such as a clock, a store or a transport. A wrong one would otherwise
 * fail later, in the middle of the work.
 *
 * @param what - Its name in the error: `createSender({ clock })`.
 * @throws TypeError naming the first method that is missing.
 */
export function checkPort(what: string, value: unknown, methods: readonly string[]): void {
  const port = Object(value) as Names;
  const missing = methods.find((name) => typeof port[name] !== "function");
  if (missing === undefined) return;
  const needed = methods.map((name) => `${name}()`).join(", ");
  const fault = port === value ? `${missing}() is missing` : `got ${nameKind(value)}`;
  throw new TypeError(`${what} must be an object with ${needed}: ${fault}.`);
}

/**
 * Checks that something a caller may inject is a function, if it is given at all.
 *
 * @throws TypeError naming what it was given as.
 */
export function checkFunction(what: string, value: unknown): void {
  if (value === undefined || typeof value === "function") return;
  throw new TypeError(`${what} must be a function, not ${nameKind(value)}.`);
}

/**
 * Whether anyone could guess a secret. White space, the text of no value and the name of a variable stand where no value is set:
 * `process.env.SECRET = config.secret` stores "undefined". A quoted "${SECRET}" is not replaced, nor a "$(SECRET)" that Kubernetes
 * does not know.
 */
export function isGuessable(secret: string): boolean {
  return /^(?:undefined|null|\$\{.*\}|\$\(.*\)|\$[A-Z_][A-Z_\d]*)?$/.test(secret.trim());
}

/** What to say of a secret that {@link isGuessable}, after its name. */
export const GUESSABLE =
  'must not be white space, "undefined", "null" or the name of a variable: set the variable that it comes from.';

/** How many letters have to be added, removed or replaced to turn one text into another. */
function editDistance(from: string, to: string): number {
  // A given name can have any length. One that is much longer is not near, and must cost nothing.
  if (Math.abs(from.length - to.length) > to.length) return Infinity;
  let row = Array.from({ length: to.length + 1 }, (_, index) => index);
  for (const letter of from) {
    let left = Infinity;
    let diagonal = left;
    row = row.map((above, column) => {
      left = Math.min(diagonal + (letter === to[column - 1] ? 0 : 1), above + 1, left + 1);
      diagonal = above;
      return left;
    });
  }
  return row.at(-1) ?? 0;
}
