import { durationText } from "@countersign/sender/explain";
import { clockTime } from "../terminal/clock-time.ts";
import { printable } from "../terminal/terminal.ts";
import type { Part, Tone } from "../terminal/layout.ts";
import type { FaultJson, LiveEvent } from "@countersign/server";

/** A line about something other than a delivery. */
export interface Notice {
  /** What it is, as the word of a summary: "3 warnings". */
  readonly kind: string;
  readonly parts: readonly Part[];
  /** How many things it is about. Default: 1. */
  readonly count?: number;
}

/** The line of an event that is not about a delivery; `undefined` if it has none. */
export function noticeOf(event: LiveEvent): Notice | undefined {
  const notice = (kind: string, word: string, tone: Tone, text: string): Notice => ({
    kind,
    parts: [
      { text: clockTime(event.at), tone: "dim" },
      { text: word.padEnd(9), tone },
      { text: printable(text) },
    ],
  });
  switch (event.event) {
    case "skipped":
      return notice(
        "skipped",
        "skipped",
        "dim",
        `${event.call.type} ${event.call.messageId}: ${event.call.reason}`,
      );
    case "rejected": {
      const { rejection, more = 0 } = event;
      const others = more === 0 ? "" : ` (and ${more.toLocaleString("en")} more of its request)`;
      const text = `${rejection.type ?? "message"}: ${rejection.detail}${others}`;
      return { ...notice("rejected", "rejected", "bad", text), count: more + 1 };
    }
    case "warned":
      return notice("warnings", "warning", "warn", `${event.warning.type}: ${event.warning.detail}`);
    case "failing":
      return notice(
        "notices",
        "failing",
        "bad",
        `${nameOf(event)}: ${event.failures} attempts in a row have failed`,
      );
    case "recovered":
      return notice(
        "notices",
        "recovered",
        "good",
        `${nameOf(event)}: it accepted a message after ${event.failures} failed attempts`,
      );
    case "store_error":
      return notice("errors", "error", "bad", event.message);
    case "store":
      return notice(
        "notices",
        "store",
        event.state !== "up" ? "bad" : event.reason === undefined ? "good" : "warn",
        event.reason === undefined ? event.state : `${event.state}: ${event.reason}`,
      );
    case "settings":
      return notice(
        "notices",
        "settings",
        "dim",
        `source ${event.source} ${event.removed ? "removed" : "changed"}`,
      );
    case "fault":
      return event.change === "injected" || event.change === "cancelled"
        ? notice("notices", "fault", "dim", faultText(event.fault, event.change))
        : undefined;
    case "clock":
      return notice("notices", "clock", "dim", `advanced by ${durationText(event.advancedMs)}`);
    case "reset":
      return notice("notices", "error", "bad", "some events were not kept long enough to be shown here");
    default:
      return undefined;
  }
}

/** An endpoint as the page names it: the URL alone can be that of several destinations. */
function nameOf({
  endpoint,
  destination,
}: {
  readonly endpoint: string;
  readonly destination: string;
}): string {
  return `${endpoint} (${destination})`;
}

function faultText({ fault, remaining }: FaultJson, change: "injected" | "cancelled"): string {
  if (change === "cancelled") return `${fault}: cancelled`;
  const what = fault === "rate_limit" ? "request" : "attempt";
  if (remaining === "unlimited") return `${fault}: injected into every ${what} until it is cancelled`;
  return `${fault}: injected into the next ${remaining === 1 ? what : `${remaining} ${what}s`}`;
}
