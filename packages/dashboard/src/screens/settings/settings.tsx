import type { JSX } from "preact";
export function Settings(): JSX.Element {
  return <div class="screen" />;
}
