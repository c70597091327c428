import type { JSX } from "preact";
export function Rejected(): JSX.Element {
  return <div class="screen" />;
}
