import type { JSX } from "preact";
import { First } from "./many.tsx";

/** A value, and the words for it; or words that are the value. */
type Option = string | readonly [value: string, words: string];

interface Props {
  readonly label: string;
  readonly value: string;
  readonly options: readonly Option[];
  /** The words for the empty value, where nothing need be chosen. */
  readonly none?: string;
  readonly onPick: (value: string) => void;
}

/** A list to choose from, with its label beside it. */
export function Choice(props: Props): JSX.Element {
  return (
    <label class="inline">
      {props.label}
      <Select {...props} />
    </label>
  );
}

/**
 * A list to choose from, whose label is not shown. What the URL says, several values or one that has gone, is an entry, too, and so is
 * what was chosen, whatever is searched for among many.
 */
export function Select({ label, value, options, none, onPick }: Props): JSX.Element {
  return (
    <First all={options} noun={label.toLowerCase()} textOf={(option) => pairOf(option)[0]}>
      {(first) => {
        const pairs = first.map(pairOf);
        if (none) pairs.unshift(["", none]);
        if (!pairs.some(([key]) => key === value)) pairs.push([value, value]);
        return (
          <select aria-label={label} value={value} onChange={(event) => onPick(event.currentTarget.value)}>
            {pairs.map(([key, words]) => (
              <option key={key} value={key}>
                {words}
              </option>
            ))}
          </select>
        );
      }}
    </First>
  );
}

/** A few alternatives side by side; those that hold are pressed. */
export function Segments({
  label,
  value,
  options,
  onPick,
}: Omit<Props, "value"> & { readonly value: string | readonly string[] }): JSX.Element {
  return (
    <div class="segments" role="group" aria-label={label}>
      {options.map((option) => {
        const [key, words] = pairOf(option);
        const isPressed = [value].flat().includes(key);
        return (
          <button key={key} type="button" aria-pressed={isPressed} onClick={() => onPick(key)}>
            {words}
          </button>
        );
      })}
    </div>
  );
}

function pairOf(option: Option): readonly [value: string, words: string] {
  return typeof option === "string" ? [option, option] : option;
}
