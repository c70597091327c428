import type { JSX } from "preact";
export function Send(): JSX.Element {
  return <div class="screen" />;
}
