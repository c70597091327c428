import type { JSX } from "preact";
export function Certify(): JSX.Element {
  return <div class="screen" />;
}
