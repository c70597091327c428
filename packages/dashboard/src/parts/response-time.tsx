import type { JSX } from "preact";
import { status } from "../data/app-state.ts";
import { duration } from "../words/format.ts";

/** A time against what an endpoint has: a bar, and the number. */
export function ResponseTime({ ms }: { readonly ms: number | undefined }): JSX.Element | null {
  if (ms === undefined) return null;
  const part = Math.min(ms / status.value.budgetMs, 1);
  const tone = part === 1 ? "bad" : part >= 0.8 ? "warn" : "good";
  return (
    <span class={`took-bar ${tone}`}>
      <span class="track" aria-hidden="true">
        <span class="fill" style={{ width: `${Math.max(part * 100, 2)}%` }} />
      </span>
      {duration(ms)}
    </span>
  );
}
