import type { JSX } from "preact";

/** A value, and the words for it; or words that are the value. */
type Option = string | readonly [value: string, words: string];

interface Props {
  readonly label: string;
  readonly value: string;
  readonly options: readonly Option[];
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

/** A list to choose from, whose label is not shown. What the URL says, several values or one that has gone, is an entry, too. */
export function Select({ label, value, options, onPick }: Props): JSX.Element {
  const pairs = options.map(pairOf);
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
