import { signal } from "../signals/signals.ts";

/** What a screen reader says next. */
export const announcement = signal("");

/** News are told at most this often, so that they do not talk over the reader. */
const NEWS_EVERY_MS = 5_000;
/** News wait so long for others to come, and for the list to be drawn with them. */
const SETTLE_MS = 250;
let newsAt = 0;
let pending: (() => string) | undefined;
let timer: ReturnType<typeof setTimeout> | undefined;

/** Tells the result of what the person just did, at once. */
export function announce(text: string): void {
  // The same words again are told again only if they change the page.
  announcement.value = announcement.value === text ? `${text}\u00A0` : text;
}

/** Tells news that nobody asked for: at most every five seconds, and then the latest. */
export function announceNews(text: () => string): void {
  pending = text;
  timer ??= setTimeout(
    () => {
      timer = undefined;
      newsAt = performance.now();
      announcement.value = pending?.() ?? "";
    },
    Math.max(newsAt + NEWS_EVERY_MS - performance.now(), SETTLE_MS),
  );
}
