import type { JSX } from "preact";
import { said } from "./said.tsx";

/** What went wrong; nothing where nothing has. */
export function Failure({ text }: { readonly text: string | undefined }): JSX.Element | null {
  return !text ? null : (
    <p class="error" role="alert">
      {said(text)}
    </p>
  );
}
