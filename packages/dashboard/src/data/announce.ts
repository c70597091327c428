import { signal } from "../signals/signals.ts";

/** What is shown for a moment, and told at once: what became of what the person did, or an endpoint that answers again. */
export const notice = signal("");
/** News that a screen reader tells; everyone else sees them in the list. */
export const news = signal("");

const SHOWN_MS = 5_000;
let hides: ReturnType<typeof setTimeout> | undefined;

/** Tells everyone, at once. */
export function announce(text: string): void {
  // The same words again are told again only if they change the page.
  notice.value = notice.value === text ? `${text}\u00A0` : text;
  clearTimeout(hides);
  hides = setTimeout(() => (notice.value = ""), SHOWN_MS);
}
