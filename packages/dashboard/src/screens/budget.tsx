import type { JSX } from "preact";
export function Budget(): JSX.Element {
  return <div class="screen" />;
}
