import { withQuery } from "../route/query.ts";
import { signal } from "../signals/signals.ts";
import { get } from "./api.ts";
import type { LiveEvent } from "../shapes/types.ts";

/** How the event stream stands. */
export type StreamState =
  | { readonly kind: "connecting" }
  | { readonly kind: "live" }
  | { readonly kind: "lost"; readonly since: number };

/** The state that the header shows. */
export const streamState = signal<StreamState>({ kind: "connecting" });

/** The server bundles what happens in so many milliseconds into one message: the page redraws at most ten times a second. */
const BUNDLE_MS = 100;
const REOPEN_MS = 2_000;

/**
 * A tab in the background closes its stream after more than so many others were looked at: a browser has six connections to a
 * server for all of its tabs, and with none left every request of every tab would wait.
 */
const OTHERS = 2;

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
  let others = 0;
  const tabs = new BroadcastChannel("looked at");

  const receive = ({ data, lastEventId }: MessageEvent<string>): void => {
    last = lastEventId;
    if (streamState.value.kind !== "live") streamState.value = { kind: "live" };
    listener([JSON.parse(data) as LiveEvent | readonly LiveEvent[]].flat());
  };

  const open = (): void => {
    source?.close();
    source = new EventSource(withQuery("/api/events", { every: BUNDLE_MS, after: last }));
    for (const name of ["events", "hello", "reset"]) source.addEventListener(name, receive);
    source.addEventListener("error", () => {
      if (streamState.value.kind !== "lost") streamState.value = { kind: "lost", since: Date.now() };
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
    others = 0;
    // oxlint-disable-next-line unicorn/require-post-message-target-origin -- a channel has none: it is that of the page
    tabs.postMessage("");
    if (!source) open();
  };
  tabs.addEventListener("message", () => {
    others += 1;
    if (others <= OTHERS || !document.hidden) return;
    clearTimeout(timer);
    source?.close();
    source = undefined;
  });
  addEventListener("visibilitychange", look);
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
