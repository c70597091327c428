import type { JSX } from "preact";
export function Faults(): JSX.Element {
  return <div class="screen" />;
}
