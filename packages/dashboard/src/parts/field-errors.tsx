import type { JSX } from "preact";
import type { FieldError } from "../data/api.ts";
import { said } from "./said.tsx";

/** What is wrong at a place of what was sent, or within it; empty when nothing is. */
export function errorAt(errors: readonly FieldError[], place: string): string {
  return (
    errors.find(({ pointer = "" }) => pointer === place || pointer.startsWith(`${place}/`))?.detail ?? ""
  );
}

/** What is wrong at places that have no field. */
export function FieldErrors({ errors }: { readonly errors: readonly FieldError[] }): JSX.Element | null {
  if (errors.length === 0) return null;
  return (
    <ul class="error" role="alert">
      {errors.map(({ pointer = "", detail }) => (
        <li key={pointer + detail}>
          {pointer && <code>{pointer}</code>} {said(detail)}
        </li>
      ))}
    </ul>
  );
}
