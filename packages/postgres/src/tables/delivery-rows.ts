import type { Attempt } from "@countersign/sender";
import type { Delivery, DeliveryProgress, DeliverySummary, DueDelivery } from "@countersign/sender/store";
import { bodylessError } from "../database/store-errors.ts";
import { decodeOptional, decodeText } from "../database/text.ts";

/** The identity of a delivery, as both tables have it. */
interface InfoRow {
  readonly source: string;
  readonly id: string;
  readonly destination: string;
  readonly message_id: string;
  readonly type: DueDelivery["delivery"]["type"];
  readonly identity: string;
  readonly event: string | null;
  readonly accepted_at: number;
}

/** A delivery that was claimed, with its body. */
export interface ClaimedRow extends InfoRow {
  readonly due_at: number;
  readonly rounds: number;
  readonly progress: string;
  /** Null when somebody has removed it. */
  readonly body: Uint8Array | null;
}

/** A delivery of either table in a list. */
export interface SummaryRow extends InfoRow {
  readonly state: DeliverySummary["state"];
  readonly due_at: number | null;
  readonly ended_at: number | null;
  readonly attempts: number;
  readonly last: string | null;
  readonly resend_of: string | null;
}

/** A delivery of either table, with its body and the attempts of its last round. */
export interface FullRow extends SummaryRow {
  /** Null when somebody has removed it. */
  readonly body: Uint8Array | null;
  readonly log: string;
}

/** One without a body gets an empty one: it must not be sent. */
export function dueDeliveryOf(row: ClaimedRow): DueDelivery {
  const { due_at: dueAt, rounds, body } = row;
  return { delivery: infoOf(row), rounds, dueAt, progress: progressOf(row), body: body ?? new Uint8Array() };
}

/** What is known of the endpoints: written by `settle`, from a DeliveryProgress. */
export function progressOf({ progress }: { readonly progress: string }): DeliveryProgress {
  return JSON.parse(decodeText(progress)) as DeliveryProgress;
}

export function summaryOf(row: SummaryRow): DeliverySummary {
  const { state, due_at: dueAt, ended_at: endedAt, attempts, last, resend_of: resendOf } = row;
  return {
    ...infoOf(row),
    state,
    dueAt: dueAt ?? undefined,
    endedAt: endedAt ?? undefined,
    attempts,
    last: last === null ? undefined : (JSON.parse(last) as DeliverySummary["last"]),
    resendOf: decodeOptional(resendOf),
  };
}

/**
 * @param earlier The attempts of earlier rounds, as they were logged, oldest first.
 * @throws StoreError when its body is gone
 */
export function deliveryOf(row: FullRow, earlier: readonly string[]): Delivery {
  const logged = [...earlier, row.log].flatMap((log) => (JSON.parse(log) as Attempt[]).map(attemptOf));
  // Rounds of the same millisecond, as there are where a clock stands still, are logged in no order.
  const attempts = logged.toSorted((a, b) => a.round - b.round);
  const { last: _, ...rest } = summaryOf(row);
  if (row.body === null) throw bodylessError();
  return { ...rest, body: row.body, attempts };
}

/** With the fields that JSON leaves out. */
function attemptOf(attempt: Attempt): Attempt {
  const { status, code, message, fault, requestHeaders, responseHeaders, cut } = attempt;
  return { ...attempt, status, code, message, fault, requestHeaders, responseHeaders, cut };
}

function infoOf(row: InfoRow): DueDelivery["delivery"] {
  return {
    id: decodeText(row.id),
    messageId: decodeText(row.message_id),
    type: row.type,
    source: decodeText(row.source),
    destination: decodeText(row.destination),
    identity: decodeText(row.identity),
    event: decodeOptional(row.event),
    acceptedAt: row.accepted_at,
  };
}
