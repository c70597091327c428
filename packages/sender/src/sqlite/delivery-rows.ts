import type { MessageType } from "@countersign/core";
import type { Attempt, AttemptOutcome } from "../delivery/attempt.ts";
import type {
  Delivery,
  DeliveryInfo,
  DeliveryState,
  DeliveryProgress,
  DueDelivery,
} from "../delivery/delivery.ts";

/** A row of `delivery` joined with its `message`. */
export interface DeliveryRow {
  readonly seq: number;
  readonly id: string;
  readonly message_id: string;
  readonly type: MessageType;
  readonly source: string;
  readonly destination: string;
  readonly identity: string;
  readonly event: string | null;
  readonly state: DeliveryState;
  readonly accepted_at: number;
  readonly due_at: number | null;
  readonly ended_at: number | null;
  readonly rounds: number;
  readonly progress: string;
  readonly body: Uint8Array | ArrayBuffer;
}

/** A row of `attempt`. */
export interface AttemptRow {
  readonly round: number;
  readonly endpoint: string;
  readonly started_at: number;
  readonly duration_ms: number;
  readonly outcome: AttemptOutcome;
  readonly status: number | null;
  readonly code: string | null;
  readonly message: string | null;
  readonly response: string;
  readonly fault: string | null;
}

export function dueDeliveryOf(row: DeliveryRow): DueDelivery {
  return {
    delivery: infoOf(row),
    rounds: row.rounds,
    dueAt: row.due_at ?? row.accepted_at,
    // Written by `settle`, from a DeliveryProgress.
    progress: JSON.parse(row.progress) as DeliveryProgress,
    body: bytesOf(row.body),
  };
}

export function deliveryOf(row: DeliveryRow, attempts: readonly AttemptRow[]): Delivery {
  return {
    ...infoOf(row),
    state: row.state,
    dueAt: row.due_at ?? undefined,
    endedAt: row.ended_at ?? undefined,
    body: bytesOf(row.body),
    attempts: attempts.map(attemptOf),
  };
}

function infoOf(row: DeliveryRow): DeliveryInfo {
  return {
    id: row.id,
    messageId: row.message_id,
    type: row.type,
    source: row.source,
    destination: row.destination,
    identity: row.identity,
    event: row.event ?? undefined,
    acceptedAt: row.accepted_at,
  };
}

function attemptOf(row: AttemptRow): Attempt {
  return {
    round: row.round,
    endpoint: row.endpoint,
    startedAt: row.started_at,
    durationMs: row.duration_ms,
    outcome: row.outcome,
    status: row.status ?? undefined,
    code: row.code ?? undefined,
    message: row.message ?? undefined,
    response: row.response,
    fault: row.fault ?? undefined,
  };
}

/** libsql gives a Buffer from `get` and an ArrayBuffer from `all`. */
function bytesOf(blob: Uint8Array | ArrayBuffer): Uint8Array {
  return blob instanceof ArrayBuffer
    ? new Uint8Array(blob)
    : new Uint8Array(blob.buffer, blob.byteOffset, blob.length);
}
