/** The names there are, held against the type they belong to so that none can be forgotten. */
export type Names<T> = Readonly<Record<keyof T & string, true>>;

/** Its keys are names there are. */
type NamesOf = Readonly<Record<string, unknown>>;

/** What to say of names that do not exist, but are likely to be given: `it is called sharedSecret here`. */
export type Hints = Readonly<Record<string, string>>;

/**
 * Refuses a name that does not exist. The compiler sees no misspelling in JavaScript, nor in what was read from a file,
 * and some of them would be found out late: without `sharedSecret`, messages are not signed.
 *
 * @throws TypeError naming the option, and the one that may have been meant
 */
export function checkOptionNames(what: string, options: unknown, names: NamesOf, hints: Hints = {}): void {
  if (!isRecord(options)) {
    throw new TypeError(`${what} takes its options as an object: { ${Object.keys(names).join(", ")} }.`);
  }
  const [unknown] = unknownNames(options, names);
  if (unknown === undefined) return;
  const hint = nameHint(unknown, names, hints);
  throw new TypeError(`${what} has no option ${JSON.stringify(unknown)}${hint}`);
}

/** The names in an object that do not exist. */
export function unknownNames(value: unknown, names: NamesOf): readonly string[] {
  return isRecord(value) ? Object.keys(value).filter((name) => !Object.hasOwn(names, name)) : [];
}

/** The end of a sentence that says a name does not exist: which one was meant, or which there are. */
export function nameHint(name: string, names: NamesOf, hints: Hints = {}): string {
  const hint = Object.hasOwn(hints, name) ? hints[name] : undefined;
  if (hint !== undefined) return `: ${hint}.`;
  const known = Object.keys(names);
  const near = nearest(name, known);
  return near === undefined ? `. There are ${known.join(", ")}.` : `; did you mean ${near}?`;
}

function isRecord(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

/** The known name with the fewest letters to change, if those are few. */
function nearest(name: string, known: readonly string[]): string | undefined {
  const [best] = known
    .map((other) => ({ other, changes: distance(name.toLowerCase(), other.toLowerCase()) }))
    .filter(({ other, changes }) => changes <= Math.max(1, Math.floor(other.length / 3)))
    .toSorted((a, b) => a.changes - b.changes);
  return best?.other;
}

/** How many letters have to be added, removed or replaced to make one text of another. */
function distance(from: string, to: string): number {
  // Names given are bounded by nothing, and what differs so much in length is not near.
  if (Math.abs(from.length - to.length) > to.length) return Number.POSITIVE_INFINITY;
  let row = Array.from({ length: to.length + 1 }, (_, index) => index);
  for (let index = 0; index < from.length; index += 1) {
    const next = [index + 1];
    for (let column = 1; column <= to.length; column += 1) {
      const replaced = (row[column - 1] ?? 0) + (from[index] === to[column - 1] ? 0 : 1);
      next.push(Math.min(replaced, (row[column] ?? 0) + 1, (next[column - 1] ?? 0) + 1));
    }
    row = next;
  }
  return row[to.length] ?? 0;
}
