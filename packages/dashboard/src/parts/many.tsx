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
  const placeIn = (item: T): number => textOf(item).toLowerCase().indexOf(q.toLowerCase());
  // What begins with it comes first: it may be all of a name that others have a part of.
  const matching =
    isMany && q ? all.filter((item) => placeIn(item) >= 0).toSorted((a, b) => placeIn(a) - placeIn(b)) : all;
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
