import type { AttemptSummary, DeliveryInfo, DeliverySummary, LiveEvent, Outcome, State } from "./types.ts";

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
  /** When the next attempt is due, while it waits. */
  dueAt: number;
  attempts: number;
  round: number;
  startedAt: number;
  endpoint: string;
  outcome: Outcome | "";
  status: number;
  answer: string;
  ms: number;
  fault: string;
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
    dueAt: 0,
    attempts: 0,
    round: 0,
    startedAt: 0,
    endpoint: "",
    outcome: "",
    status: 0,
    answer: "",
    ms: 0,
    fault: "",
  };
}

/** A row of a delivery as the API lists it. */
export function rowOf(summary: DeliverySummary): Row {
  const row = newRow(summary);
  row.state = summary.state;
  row.dueAt = summary.dueAt === undefined ? 0 : Date.parse(summary.dueAt);
  row.attempts = summary.attempts;
  if (summary.last) setLast(row, summary.last);
  return row;
}

/** Takes over what the API lists, unless events have already told more. */
export function mergeRow(row: Row, listed: Row): void {
  if (listed.attempts < row.attempts || (listed.state === "pending" && row.state !== "pending")) return;
  const { id: _, acceptedAt: __, ...fields } = listed;
  Object.assign(row, fields);
}

/**
 * Takes an event over into the row of its delivery.
 *
 * @param exact Whether the row may already hold the attempt, because it was listed after the attempt: then only a later one counts.
 */
export function applyEvent(row: Row, event: LiveEvent, exact: boolean): void {
  switch (event.event) {
    case "attempt": {
      const startedAt = Date.parse(event.attempt.startedAt);
      const sibling = !exact && event.attempt.round === row.round && event.attempt.endpoint !== row.endpoint;
      if (startedAt <= row.startedAt && !sibling) return;
      row.attempts += 1;
      setLast(row, event.attempt);
      return;
    }
    case "retrying":
      if (row.state === "pending") row.dueAt = Date.parse(event.dueAt);
      return;
    case "delivered":
    case "failed":
    case "expired":
      row.state = event.event;
      row.dueAt = 0;
      return;
    default:
  }
}

function setLast(row: Row, last: AttemptSummary): void {
  row.round = last.round;
  row.startedAt = Date.parse(last.startedAt);
  row.endpoint = share(last.endpoint);
  row.outcome = last.outcome;
  row.status = last.status ?? 0;
  row.answer = share(last.answer);
  row.ms = last.durationMs;
  row.fault = share(last.fault ?? "");
}
