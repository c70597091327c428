import type { Clock } from "@countersign/protocol";
import { performance } from "node:perf_hooks";
import { inspect } from "node:util";
import type { Attempt } from "../delivery/attempt.ts";
import type { Delivery } from "../delivery/delivery.ts";
import type { SenderEvents } from "../engine/sender-events.ts";
import type { AttemptsUnderWay, AttemptUnderWay } from "./attempts-under-way.ts";
import { isReceipt, type Searched } from "./expect.ts";
import type { ScopedFault } from "./injected-faults.ts";

/** The facts about an expectation that failed. */
export interface FailureDetails {
  readonly what: Searched;
  readonly destination: string | undefined;
  readonly goal: string;
  readonly withinMs: number;
  /** It failed before its time was up, because it could not come true any more. */
  readonly hopeless: boolean;
  readonly meant: readonly Delivery[];
  /** The latest deliveries, when none is meant. */
  readonly others: readonly Delivery[];
  readonly skipped: readonly SenderEvents["skipped"][];
  readonly clock: Clock;
  readonly underWay: AttemptsUnderWay;
  /** Those that have not struck. */
  readonly faults: readonly ScopedFault[];
  /** What fake timers keep from running, in words. */
  readonly replaced: string | undefined;
}

const SHOWN_DELIVERIES = 5;
const SHOWN_ATTEMPTS = 10;
const SHOWN_FAULTS = 5;
const SHOWN_TEXT = 200;

/** The text of a failed expectation: what was expected, what was seen instead, and what may be the reason. */
export function describeFailure(details: FailureDetails): string {
  const { what, destination, goal, withinMs, hopeless } = details;
  const where = destination === undefined ? "" : ` on its way to ${destination}`;
  const limit = hopeless
    ? ", but this cannot happen any more"
    : ` within ${withinMs} ms, but this did not happen`;
  return [
    `expected ${describeExpected(what)}${where} to ${goal}${limit}`,
    ...describeSeen(details),
    ...describeFaults(details.faults),
    ...(details.replaced === undefined ? [] : [details.replaced]),
  ].join("\n");
}

/** A scope that fits nothing is a usual reason. */
function* describeFaults(faults: readonly ScopedFault[]): Generator<string> {
  if (faults.length > 0) yield "Faults that were injected, and have not struck:";
  yield* faults.slice(0, SHOWN_FAULTS).map(({ fault, scope }) => `  ${fault} ${inspect(scope)}`);
  if (faults.length > SHOWN_FAULTS) yield `  and ${faults.length - SHOWN_FAULTS} more`;
}

function describeExpected(what: Searched): string {
  if (typeof what === "function") {
    return `a message that ${what.name === "" ? "the function" : `${what.name}()`} accepts`;
  }
  if (isReceipt(what)) {
    return "the message of the receipt";
  }
  const fields = inspect(what, { breakLength: Number.POSITIVE_INFINITY, depth: 5 });
  return Object.keys(what).length === 0 ? "a message" : `a message with ${fields}`;
}

function* describeSeen({ what, meant, others, skipped, ...seenWith }: FailureDetails): Generator<string> {
  if (meant.length > 0) {
    yield meant.length === 1 ? "It has one delivery:" : `It has ${meant.length} deliveries:`;
    yield* describeDeliveries(meant, seenWith);
    return;
  }
  if (isReceipt(what)) {
    yield `It has no such delivery${what.skipped === undefined ? "" : `: the call was skipped (${what.skipped})`}.`;
    return;
  }
  yield others.length === 0 ? "No message was accepted." : "No such message was accepted. The latest are:";
  yield* describeDeliveries(others, seenWith);
  if (skipped.length > 0) {
    yield "Calls that led to no delivery:";
    yield* skipped.map(
      ({ type, source, reason, messageId }) => `  ${type} ${messageId} in ${source}: ${reason}`,
    );
  }
}

function* describeDeliveries(
  deliveries: readonly Delivery[],
  { clock, underWay }: Pick<FailureDetails, "clock" | "underWay">,
): Generator<string> {
  for (const delivery of deliveries.slice(0, SHOWN_DELIVERIES)) {
    yield* describeDelivery(delivery, clock);
    yield* underWay.of(delivery.id).map(describeUnderWay);
  }
  if (deliveries.length > SHOWN_DELIVERIES) {
    yield `  and ${deliveries.length - SHOWN_DELIVERIES} more`;
  }
  if (!("advance" in clock)) return;
  if (deliveries.some(({ id }) => underWay.of(id).length > 0)) {
    yield "The sender's clock is virtual: it moves when attempts have ended. A handler that awaits clock.advance() waits for itself.";
  } else if (deliveries.some(({ dueAt = 0 }) => dueAt > clock.now())) {
    yield "The sender's clock is virtual: it does not move until the test calls clock.advance().";
  }
}

function* describeDelivery(delivery: Delivery, clock: Clock): Generator<string> {
  const { type, event, identity, destination, state, dueAt, attempts } = delivery;
  const name = event === undefined ? type : `${type} ${JSON.stringify(event)}`;
  const left = dueAt === undefined ? 0 : dueAt - clock.now();
  const due = left > 0 ? `, the next round in ${left} ms of the sender's clock` : "";
  yield `  ${name} of ${identity} to ${destination}: ${state}${due}; ${count(attempts.length, "attempt")}`;
  const shown = attempts.slice(-SHOWN_ATTEMPTS);
  if (shown.length < attempts.length) {
    yield `    ${attempts.length - shown.length} earlier`;
  }
  yield* shown.map((attempt) => `    ${describeAttempt(attempt)}`);
}

function describeAttempt({
  round,
  endpoint,
  outcome,
  status,
  code,
  message,
  response,
  fault,
  durationMs,
}: Attempt): string {
  const how = [outcome, status, code, fault === undefined ? undefined : `(fault: ${fault})`];
  const told = [message, response].filter((text) => text !== undefined && text !== "").map(clip);
  const head = `round ${round}, ${endpoint}: ${how.filter((part) => part !== undefined).join(" ")}`;
  return [`${head} after ${Math.round(durationMs)} ms`, ...told].join("; ");
}

function describeUnderWay({ endpoint, startedAt }: AttemptUnderWay): string {
  return `    ${endpoint}: no response yet, ${Math.round(performance.now() - startedAt)} ms after the attempt began`;
}

function count(number: number, noun: string): string {
  return `${number} ${noun}${number === 1 ? "" : "s"}`;
}

/** In one line, and not a long one. */
function clip(text: string | undefined = ""): string {
  const line = text.replaceAll(/\s+/gu, " ").trim();
  return line.length > SHOWN_TEXT ? `${line.slice(0, SHOWN_TEXT)}...` : line;
}
