import type { ComponentChildren, JSX } from "preact";

interface Props {
  readonly kind: string;
  /** Names with their values; false for one that is left out. */
  readonly entries: readonly (readonly [name: string, value: ComponentChildren, tone?: string] | false)[];
}

/** Names, each with its value. */
export function Pairs({ kind, entries }: Props): JSX.Element {
  return (
    <dl class={kind}>
      {entries.map(
        (entry) =>
          entry && (
            <div key={entry[0]} class={entry[2]}>
              <dt>{entry[0]}</dt>
              <dd>{entry[1]}</dd>
            </div>
          ),
      )}
    </dl>
  );
}
