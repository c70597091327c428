import { withQuery } from "../route/query.ts";
import { signal } from "../signals/signals.ts";
import { get, needsToken } from "./api.ts";
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

/** Opens the stream, and opens it again whenever it ends. `listener` gets the events in order. */
export function openStream(listener: (events: readonly LiveEvent[]) => void): () => void {
  let source: EventSource | undefined;
  let timer: ReturnType<typeof setTimeout> | undefined;
  let last = "";

  const receive = ({ data, lastEventId }: MessageEvent<string>): void => {
    last = lastEventId;
    if (streamState.value.kind !== "live") streamState.value = { kind: "live" };
    listener([JSON.parse(data) as LiveEvent | readonly LiveEvent[]].flat());
  };

  const open = (): void => {
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
    get("/status").then(open, () => {
      if (!needsToken.value) timer = setTimeout(reopen, REOPEN_MS);
    });
  };

  open();
  return () => {
    clearTimeout(timer);
    source?.close();
  };
}
