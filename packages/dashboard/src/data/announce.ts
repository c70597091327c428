import { signal } from "../signals/signals.ts";

/** What is shown for a moment, and told at once: what became of what the person did, or an endpoint that answers again. */
export const notice = signal("");
/** News that a screen reader tells; everyone else sees them in the list. */
export const news = signal("");

const SHOWN_MS = 5_000;
let hides: ReturnType<typeof setTimeout> | undefined;

/** News are told at most this often, so that they do not talk over the reader. */
const NEWS_EVERY_MS = 5_000;
/** News wait so long for others to come, and for the list to be drawn with them. */
const SETTLE_MS = 250;
let newsAt = 0;
let timer: ReturnType<typeof setTimeout> | undefined;

/** Tells everyone, at once. */
export function announce(text: string): void {
  // The same words again are told again only if they change the page.
  notice.value = notice.value === text ? `${text}\u00A0` : text;
  clearTimeout(hides);
  hides = setTimeout(() => (notice.value = ""), SHOWN_MS);
}

/** Tells a screen reader news that nobody asked for: at most every five seconds, and then the latest. */
export function announceNews(text: () => string): void {
  timer ??= setTimeout(
    () => {
      timer = undefined;
      newsAt = performance.now();
      news.value = text();
    },
    Math.max(newsAt + NEWS_EVERY_MS - performance.now(), SETTLE_MS),
  );
}
