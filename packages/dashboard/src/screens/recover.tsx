import type { JSX } from "preact";
export function Recover(): JSX.Element {
  return <div class="screen" />;
}
