import type { MessageType } from "@countersign/core";
import type { Attempt, AttemptOutcome } from "../delivery/attempt.ts";
import type {
  Delivery,
  DeliveryInfo,
  DeliveryProgress,
  DeliveryState,
  DeliverySummary,
  DueDelivery,
} from "../delivery/delivery.ts";
import { type StoredText, textOf, wholeTexts } from "./whole-text.ts";

/** Texts of `delivery` that a client chooses, whole. */
const INFO_TEXTS: string = wholeTexts("d.message_id", "d.identity", "d.event");

/** Texts of an attempt that a transport or an endpoint chooses, whole. */
const failureTexts = (table: string): string => wholeTexts(`${table}.code`, `${table}.problem`);
const resultTexts = (table: string): string => `${failureTexts(table)}, ${wholeTexts(`${table}.response`)}`;

/** Selects deliveries, to be followed by a condition. */
export const SELECT_DELIVERIES: string = `SELECT d.*, ${INFO_TEXTS}, ${resultTexts("d")}, m.body
  FROM delivery AS d JOIN message AS m ON m.seq = d.message`;

/** Selects attempts, to be followed by a condition. */
export const SELECT_ATTEMPTS: string = `SELECT *, ${resultTexts("attempt")} FROM attempt`;

/** Columns of `delivery` that a summary is made of. */
export const SUMMARY_COLUMNS: string = `d.seq, d.id, d.type, d.source, d.destination, d.state, ${INFO_TEXTS},
  d.accepted_at, d.due_at, d.ended_at, d.resend_of, d.attempts, d.round, d.endpoint, d.started_at, d.duration_ms,
  d.outcome, d.status, ${failureTexts("d")}, d.fault`;

/** A row of {@link SUMMARY_COLUMNS}. */
export interface SummaryRow extends Nullable<Omit<AttemptRow, keyof AttemptBulk>> {
  readonly seq: number;
  readonly id: string;
  readonly message_id: StoredText;
  readonly type: MessageType;
  readonly source: string;
  readonly destination: string;
  readonly identity: StoredText;
  readonly event: StoredText | null;
  readonly state: DeliveryState;
  readonly accepted_at: number;
  readonly due_at: number | null;
  readonly ended_at: number | null;
  readonly resend_of: string | null;
  readonly attempts: number;
}

/** A row of `delivery` with the body of its message. */
export interface DeliveryRow extends SummaryRow, Nullable<AttemptBulk> {
  readonly rounds: number;
  readonly progress: string;
  readonly body: Uint8Array | ArrayBuffer;
}

/** A row of `attempt`; the row of a delivery has its last one. */
export interface AttemptRow extends AttemptBulk {
  readonly round: number;
  readonly endpoint: string;
  readonly started_at: number;
  readonly duration_ms: number;
  readonly outcome: AttemptOutcome;
  readonly status: number | null;
  readonly code: StoredText | null;
  readonly problem: StoredText | null;
  readonly fault: string | null;
}

/** What makes an attempt large. */
interface AttemptBulk {
  readonly response: StoredText;
  readonly is_cut: number | null;
  readonly request_headers: string | null;
  readonly response_headers: string | null;
}

type Nullable<T> = { readonly [K in keyof T]: T[K] | null };

export function dueDeliveryOf(row: DeliveryRow): DueDelivery {
  return {
    delivery: infoOf(row),
    rounds: row.rounds,
    dueAt: row.due_at ?? row.accepted_at,
    progress: progressOf(row),
    body: bytesOf(row.body),
  };
}

/** What is known of the endpoints: written by `settle`, from a DeliveryProgress. */
export function progressOf({ progress }: Pick<DeliveryRow, "progress">): DeliveryProgress {
  return JSON.parse(progress) as DeliveryProgress;
}

/** @param earlier the attempts before the last one, which the row has */
export function deliveryOf(row: DeliveryRow, earlier: readonly AttemptRow[]): Delivery {
  const attempts = hasAttempt(row) ? [...earlier, row] : earlier;
  return {
    ...infoOf(row),
    state: row.state,
    dueAt: row.due_at ?? undefined,
    endedAt: row.ended_at ?? undefined,
    body: bytesOf(row.body),
    attempts: attempts.map(attemptOf),
    resendOf: row.resend_of ?? undefined,
  };
}

export function summaryOf(row: SummaryRow): DeliverySummary {
  return {
    ...infoOf(row),
    state: row.state,
    dueAt: row.due_at ?? undefined,
    endedAt: row.ended_at ?? undefined,
    attempts: row.attempts,
    last: hasAttempt(row) ? attemptSummaryOf(row) : undefined,
    resendOf: row.resend_of ?? undefined,
  };
}

function hasAttempt<T extends SummaryRow>(row: T): row is T & AttemptRow {
  return row.endpoint !== null;
}

function infoOf(row: SummaryRow): DeliveryInfo {
  return {
    id: row.id,
    messageId: textOf(row.message_id),
    type: row.type,
    source: row.source,
    destination: row.destination,
    identity: textOf(row.identity),
    event: row.event === null ? undefined : textOf(row.event),
    acceptedAt: row.accepted_at,
  };
}

function attemptSummaryOf(row: Omit<AttemptRow, keyof AttemptBulk>): Omit<Attempt, "response"> {
  return {
    round: row.round,
    endpoint: row.endpoint,
    startedAt: row.started_at,
    durationMs: row.duration_ms,
    outcome: row.outcome,
    status: row.status ?? undefined,
    code: row.code === null ? undefined : textOf(row.code),
    message: row.problem === null ? undefined : textOf(row.problem),
    fault: row.fault ?? undefined,
  };
}

function attemptOf(row: AttemptRow): Attempt {
  return {
    ...attemptSummaryOf(row),
    response: textOf(row.response),
    cut: row.is_cut === 1 ? true : undefined,
    requestHeaders: headersOf(row.request_headers),
    responseHeaders: headersOf(row.response_headers),
  };
}

/** Written by `settle`, from the headers of an Attempt. */
function headersOf(text: string | null): Readonly<Record<string, string>> | undefined {
  return text === null ? undefined : (JSON.parse(text) as Record<string, string>);
}

/** libsql gives a Buffer from `get` and an ArrayBuffer from `all`. */
function bytesOf(blob: Uint8Array | ArrayBuffer): Uint8Array {
  return ArrayBuffer.isView(blob)
    ? new Uint8Array(blob.buffer, blob.byteOffset, blob.length)
    : new Uint8Array(blob);
}
