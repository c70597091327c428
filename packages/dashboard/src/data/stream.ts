import { withQuery } from "../route/query.ts";
import { signal } from "../signals/signals.ts";
import { get } from "./api.ts";
import type { LiveEvent } from "../shapes/types.ts";

/** Since when the event stream is lost, in milliseconds since 1970; 0 while it is there, and undefined before it is. */
export const lostSince = signal<number | undefined>(undefined);

/** The server bundles what happens in so many milliseconds into one message: the page redraws at most ten times a second. */
const BUNDLE_MS = 100;
const REOPEN_MS = 2_000;

/**
 * A tab closes its stream after more than so many others were looked at: a browser has six connections to a server for all of its
 * tabs, and with none left every request of every tab would wait.
 */
const OTHERS = 2;
/** In sight, beside the others, it then opens it for a moment now and then. */
const MOMENT_MS = 1_000;
const REST_MS = 4_000;

/**
 * Opens the stream, and opens it again whenever it ends. `listener` gets the events in order.
 *
 * Returns what to call now and then with the last event that the server has told of: if none has come since the call
 * before, though there was one, the stream is opened anew. Its connection can be there and bring nothing, after a pause of this
 * machine or through a proxy.
 */
export function openStream(
  listener: (events: readonly LiveEvent[]) => void,
): (told: string | undefined) => void {
  let source: EventSource | undefined;
  let timer: ReturnType<typeof setTimeout> | undefined;
  let last = "";
  /** What `last` was, and what it was to be, when it was looked at before. */
  let [had, due] = ["", ""];
  const others = new Set<number>();
  const own = Math.random();
  let tabs: BroadcastChannel | undefined;
  try {
    tabs = new BroadcastChannel("looked at");
  } catch {
    // Where it blocks cookies, Firefox keeps tabs apart.
  }
  /** Tells the others the number of this tab as it is looked at, and with a minus as it is closed. */
  // oxlint-disable-next-line unicorn/require-post-message-target-origin -- a channel has none: it is that of the page
  const tell = (number: number): void => tabs?.postMessage(number);

  const receive = ({ data, lastEventId }: MessageEvent<string>): void => {
    last = lastEventId;
    lostSince.value = 0;
    listener([JSON.parse(data) as LiveEvent | readonly LiveEvent[]].flat());
  };

  const open = (): void => {
    clearTimeout(timer);
    source?.close();
    source = new EventSource(withQuery("/api/events", { every: BUNDLE_MS, after: last }));
    timer = setTimeout(rest, MOMENT_MS);
    for (const name of ["events", "hello", "reset"]) source.addEventListener(name, receive);
    source.addEventListener("error", () => {
      lostSince.value ||= Date.now();
      // After an answer that is no stream the browser does not try again by itself.
      if (source?.readyState !== EventSource.CLOSED) return;
      timer = setTimeout(reopen, REOPEN_MS);
    });
  };

  const reopen = (): void => {
    get("/status").then(open, () => (timer = setTimeout(reopen, REOPEN_MS)));
  };

  const look = (): void => {
    if (document.hidden) return;
    others.clear();
    tell(own);
    if (!source) open();
  };
  const rest = (): void => {
    if (!source || others.size <= OTHERS) return;
    source.close();
    source = undefined;
    timer = setTimeout(() => document.hidden || open(), REST_MS);
  };
  tabs?.addEventListener("message", ({ data }) => {
    if (data < 0) others.delete(-data);
    else others.add(data);
    rest();
  });
  addEventListener("pagehide", () => tell(-own));
  for (const name of ["visibilitychange", "focus"]) addEventListener(name, look);
  look();
  return (told) => {
    if (source && last === had && last !== due) {
      source.close();
      source.dispatchEvent(new Event("error"));
    }
    had = last;
    due = (source && told) ?? last;
  };
}
