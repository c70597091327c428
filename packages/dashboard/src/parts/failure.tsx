import type { JSX } from "preact";

/** What went wrong with what the person has just done; nothing where nothing has. */
export function Failure({ text }: { readonly text: string }): JSX.Element | null {
  return text === "" ? null : (
    <p class="error" role="alert">
      {text}
    </p>
  );
}
