import type { JSX } from "preact";

/** What went wrong; nothing where nothing has. */
export function Failure({ text }: { readonly text: string | undefined }): JSX.Element | null {
  return !text ? null : (
    <p class="error" role="alert">
      {text}
    </p>
  );
}
