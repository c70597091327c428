import type { ComponentChildren, JSX } from "preact";
import { useState } from "preact/hooks";
import { plural } from "../words/format.ts";

/** More than these are not shown at once: a browser would be busy for seconds, and nobody looks through them. */
export const MANY = 50;

interface Props<T> {
  readonly all: readonly T[];
  readonly noun: string;
  /** What a search looks at, in upper or lower case. */
  readonly textOf: (item: T) => string;
  readonly children: (first: readonly T[]) => ComponentChildren;
}

/** Shows all of a few; of many, the first that have in them what is searched for, after a field for it and how many there are. */
export function First<T>({ all, noun, textOf, children }: Props<T>): JSX.Element {
  const [q, setQ] = useState("");
  const isMany = all.length > MANY;
  const matching = isMany && q ? search(all, q, textOf) : all;
  const label = `Find ${noun}s`;
  return (
    <>
      {isMany && (
        <span class="actions">
          <input
            type="search"
            aria-label={label}
            placeholder={label}
            spellcheck={false}
            value={q}
            onInput={(event) => setQ(event.currentTarget.value)}
          />
          <span class="note" role="status">
            {matching.length > MANY && `${MANY} of `}
            {plural(matching.length, noun)}
          </span>
        </span>
      )}
      {children(matching.slice(0, MANY))}
    </>
  );
}

/** What has a text in it. What begins with it comes first: it may be all of a name that others have a part of. */
function search<T>(all: readonly T[], text: string, textOf: (item: T) => string): readonly T[] {
  const wanted = text.toLowerCase();
  const places = all.map((item) => [textOf(item).toLowerCase().indexOf(wanted), item] as const);
  return places
    .filter(([place]) => place >= 0)
    .toSorted(([a], [b]) => a - b)
    .map(([, item]) => item);
}
