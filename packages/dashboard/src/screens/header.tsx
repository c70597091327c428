import type { JSX } from "preact";
import { silentSince } from "../data/api.ts";
import { clock, serverNow, status } from "../data/app-state.ts";
import { lostSince } from "../data/stream.ts";
import { hrefOf } from "../route/route.ts";
import { clockTime } from "../words/format.ts";
import { showHelp } from "./keys.tsx";

/** Name, state of the stream, and the time where it is virtual. */
export function Header(): JSX.Element {
  return (
    <header class="header">
      <h1>
        <a class="brand" href={hrefOf("deliveries")}>
          <svg viewBox="0 0 32 32" width="22" height="22" aria-hidden="true">
            <rect class="brand-ground" width="32" height="32" rx="7" />
            <path class="brand-sign" d="M8 17l5 5 11-12" />
          </svg>
          <span class="brand-word">Countersign</span>
        </a>
      </h1>
      <span class="grow" />
      <Time />
      <Stream />
      <button type="button" class="quiet" aria-haspopup="dialog" onClick={showHelp}>
        <span class="key-word">Keys</span> <kbd>?</kbd>
      </button>
    </header>
  );
}

function Time(): JSX.Element | null {
  const now = clock.value;
  if (now?.kind !== "virtual") return null;
  return (
    <a class="chip" href={hrefOf("faults")}>
      <span class="wide">Virtual time</span> {clockTime(serverNow(), serverNow())}
    </a>
  );
}

function Stream(): JSX.Element {
  const lost = lostSince.value;
  const since = lost || silentSince.value;
  const [tone, word] = since
    ? ["bad", `${lost ? "Connection lost" : "No answer"} since ${clockTime(since, Date.now())}`]
    : lost === 0
      ? ["good", "Live"]
      : ["wait", "Connecting…"];
  return (
    <span
      class={`stream ${tone}`}
      role="status"
      title={status.value.kept === "memory" ? "Kept in memory only" : ""}
    >
      <span class="dot" aria-hidden="true" />
      {word}
    </span>
  );
}
