import type { JSX } from "preact";
import { useId } from "./hooks.ts";
import { said } from "./said.tsx";

interface Props {
  readonly label: string;
  readonly value: string;
  readonly onInput: (value: string) => void;
  /** What is wrong with it; empty when nothing is. */
  readonly error?: string | undefined;
  readonly hint?: string | undefined;
  /** Rows of a text of several lines; one line without. */
  readonly rows?: number;
  readonly type?: "text" | "password";
  /** Default: `off`. */
  readonly autocomplete?: "off" | "current-password";
  readonly required?: boolean;
  readonly placeholder?: string | undefined;
}

type Input = JSX.IntrinsicElements["input"];

/** A labelled field with its error beside it. */
export function Field({
  label,
  value,
  onInput,
  error = "",
  hint,
  rows,
  type = "text",
  autocomplete = "off",
  required = false,
  placeholder,
}: Props): JSX.Element {
  const id = useId();
  const described = [error !== "" && `${id}-error`, hint !== undefined && `${id}-hint`]
    .filter(Boolean)
    .join(" ");
  const common = {
    id,
    value,
    required,
    placeholder,
    spellcheck: false,
    autocomplete,
    "aria-invalid": error !== "",
    "aria-describedby": described || undefined,
    onInput: (event: { readonly currentTarget: { readonly value: string } }) =>
      onInput(event.currentTarget.value),
  } as const;
  return (
    <div class="field">
      <label for={id}>
        {label}
        {!required && <span class="about"> optional</span>}
      </label>
      {rows === undefined ? (
        <input {...({ ...common, type } as Input)} />
      ) : (
        <textarea rows={rows} {...common} />
      )}
      {hint !== undefined && (
        <p id={`${id}-hint`} class="note">
          {hint}
        </p>
      )}
      {error && (
        <p id={`${id}-error`} class="error">
          {said(error)}
        </p>
      )}
    </div>
  );
}
