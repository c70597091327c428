import type { AttemptSummary, DeliveryInfo, DeliverySummary, LiveEvent, State } from "./types.ts";

/** One delivery as the list keeps it: a hundred thousand of these fit in memory, so text that repeats is shared. */
export interface Row {
  readonly id: string;
  /** When it was accepted, in milliseconds since 1970. */
  readonly acceptedAt: number;
  readonly type: string;
  readonly event: string;
  readonly destination: string;
  readonly identity: string;
  state: State;
  last: LastAttempt | undefined;
}

/** What a row keeps of the last attempt. */
export interface LastAttempt extends Pick<
  AttemptSummary,
  "round" | "endpoint" | "durationMs" | "outcome" | "answer"
> {
  readonly status: number | undefined;
  readonly fault: string | undefined;
}

const MAX_SHARED = 5_000;
const shared = new Map<string, string>();

/** The same text as one string in memory, however often it arrives. */
function share(text: string): string {
  const known = shared.get(text);
  if (known !== undefined) return known;
  if (shared.size >= MAX_SHARED) shared.clear();
  shared.set(text, text);
  return text;
}

/** A row of a delivery that was just accepted. */
export function newRow(info: DeliveryInfo): Row {
  return {
    id: info.id,
    acceptedAt: Date.parse(info.acceptedAt),
    type: share(info.type),
    event: share(info.event ?? ""),
    destination: share(info.destination),
    identity: info.identity,
    state: "pending",
    last: undefined,
  };
}

/** A row of a delivery as the API lists it. */
export function rowOf(summary: DeliverySummary): Row {
  const row = newRow(summary);
  row.state = summary.state;
  row.last = summary.last && lastOf(summary.last);
  return row;
}

/** Takes over what the API lists, unless events have already told more. */
export function mergeRow(row: Row, listed: Row): void {
  if (triesOf(listed) < triesOf(row) || (listed.state === "pending" && row.state !== "pending")) return;
  Object.assign(row, listed, { last: shown(row.last, listed.last) });
}

/** How often a delivery was tried: each round is one try, at however many endpoints, as in the sentence that says why it waits. */
export function triesOf({ last }: Row): number {
  return last?.round ?? 0;
}

/** Takes an event over into the row of its delivery, which may have been listed after the event. */
export function applyEvent(row: Row, event: LiveEvent): void {
  if ("endedAt" in event) row.state = event.event;
  if (event.event !== "attempt") return;
  row.last = shown(row.last, lastOf(event.attempt));
}

/** Which of two attempts to show. As the API: of a round, the last that ended, of those that accepted it where there are such. */
function shown(before: LastAttempt | undefined, last: LastAttempt | undefined): LastAttempt | undefined {
  if (!before || !last) return last ?? before;
  // Not by their times: where time is virtual, all rounds can begin at the same time.
  const later = last.round - before.round;
  const isAsGood = before.outcome !== "success" || last.outcome === "success";
  return later > 0 || (later === 0 && isAsGood) ? last : before;
}

function lastOf({
  round,
  endpoint,
  outcome,
  status,
  answer,
  durationMs,
  fault,
}: AttemptSummary): LastAttempt {
  return {
    round,
    endpoint: share(endpoint),
    outcome,
    status,
    answer: share(answer),
    durationMs,
    fault: fault && share(fault),
  };
}
