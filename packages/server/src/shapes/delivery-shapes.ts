import { roundedMs } from "@countersign/protocol";
import type {
  Attempt,
  AttemptOutcome,
  DeliveryInfo,
  DeliveryState,
  DeliverySummary,
  MessageType,
  SenderEvents,
  SkippedCall,
  SkipReason,
} from "@countersign/sender";
import { answerText } from "@countersign/sender/explain";
import { iso } from "./times.ts";

/** The identity of a delivery, as the API and its events show it. */
export interface DeliveryJson extends Omit<DeliveryInfo, "acceptedAt"> {
  /** ISO 8601. */
  readonly acceptedAt: string;
  /** Id of the delivery that it repeats. */
  readonly resendOf?: string;
}

/** A call that went to no destination. */
export interface SkippedJson {
  readonly messageId: string;
  readonly type: MessageType;
  /** Name of a track event. */
  readonly event?: string;
  readonly source: string;
  readonly identity: string;
  readonly reason: SkipReason;
}

/** A delivery in a list: its state, without requests and answers. */
export interface DeliverySummaryJson extends DeliveryJson {
  readonly state: DeliveryState;
  readonly dueAt?: string;
  readonly endedAt?: string;
  /** How many there were. */
  readonly attempts: number;
  readonly last?: AttemptSummaryJson;
}

/** How an attempt ended, without the request and the answer. */
export interface AttemptSummaryJson {
  readonly round: number;
  readonly endpoint: string;
  /** ISO 8601. */
  readonly startedAt: string;
  /** Milliseconds, with one decimal. */
  readonly durationMs: number;
  readonly outcome: AttemptOutcome;
  /** The answer in words: the status, or why there is none. */
  readonly answer: string;
  readonly status?: number;
  readonly code?: string;
  readonly message?: string;
  readonly fault?: string;
}

/** An attempt as an event shows it: with the beginning of the answer. */
export interface AttemptEventJson extends AttemptSummaryJson {
  /** The beginning of the answer, at most 1,024 characters. */
  readonly response: string;
  /** The answer was longer. */
  readonly cut?: true;
}

/** How much of an answer an event carries. The whole of it is in the delivery. */
const EXCERPT_CHARACTERS = 1_024;

/** The identity of a delivery, without other fields of the object. */
export function deliveryJson(delivery: DeliveryInfo, resendOf?: string): DeliveryJson {
  const { id, messageId, type, event, source, destination, identity, acceptedAt } = delivery;
  return {
    id,
    messageId,
    type,
    ...(event !== undefined && { event }),
    source,
    destination,
    identity,
    acceptedAt: iso(acceptedAt),
    ...(resendOf !== undefined && { resendOf }),
  };
}

/** A skipped call in a list. */
export interface SkippedCallJson extends SkippedJson {
  readonly id: string;
  /** ISO 8601. */
  readonly acceptedAt: string;
}

/** A skipped call in a list. */
export function skippedCallJson(call: SkippedCall): SkippedCallJson {
  return { id: call.id, ...skippedJson(call), acceptedAt: iso(call.acceptedAt) };
}

/** A delivery in a list. */
export function summaryJson(summary: DeliverySummary): DeliverySummaryJson {
  const { state, dueAt, endedAt, attempts, last, resendOf } = summary;
  return {
    ...deliveryJson(summary, resendOf),
    state,
    ...(dueAt !== undefined && { dueAt: iso(dueAt) }),
    ...(endedAt !== undefined && { endedAt: iso(endedAt) }),
    attempts,
    ...(last && { last: attemptSummaryJson(last) }),
  };
}

/** A call that went to no destination. */
export function skippedJson(call: SenderEvents["skipped"]): SkippedJson {
  const { messageId, type, event, source, identity, reason } = call;
  return { messageId, type, ...(event !== undefined && { event }), source, identity, reason };
}

/** An attempt without the request and the answer. */
export function attemptSummaryJson(attempt: Omit<Attempt, "response" | "cut">): AttemptSummaryJson {
  const { round, endpoint, startedAt, durationMs, outcome, status, code, message, fault } = attempt;
  return {
    round,
    endpoint,
    startedAt: iso(startedAt),
    durationMs: roundedMs(durationMs),
    outcome,
    answer: answerText(attempt),
    ...(status !== undefined && { status }),
    ...(code !== undefined && { code }),
    ...(message !== undefined && { message }),
    ...(fault !== undefined && { fault }),
  };
}

/** An attempt with the request and the answer. */
export interface AttemptJson extends AttemptSummaryJson {
  /** At most 16 KiB. */
  readonly response: string;
  /** The answer was longer. */
  readonly cut?: true;
  readonly requestHeaders?: Readonly<Record<string, string>>;
  readonly responseHeaders?: Readonly<Record<string, string>>;
}

/** An attempt with the request and the answer. */
export function attemptJson(attempt: Attempt): AttemptJson {
  const { response, cut, requestHeaders, responseHeaders } = attempt;
  return {
    ...attemptSummaryJson(attempt),
    response,
    ...(cut && { cut }),
    ...(requestHeaders && { requestHeaders }),
    ...(responseHeaders && { responseHeaders }),
  };
}

/** An attempt with the beginning of the answer. */
export function attemptEventJson(attempt: Attempt): AttemptEventJson {
  const response = attempt.response.slice(0, EXCERPT_CHARACTERS);
  const cut = attempt.cut ?? response.length < attempt.response.length;
  return { ...attemptSummaryJson(attempt), response, ...(cut && { cut }) };
}
