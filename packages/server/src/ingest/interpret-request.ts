import { MAX_BATCH_MESSAGES } from "./limits.ts";
import {
  normalizeCall,
  readSharedFields,
  type CallSurroundings,
  type CallType,
  type IngestedCall,
} from "./normalize-call.ts";
import { isRecord, withoutNulls } from "./records.ts";
import { tooLarge, type Refusal } from "./refusal.ts";
import { rejectionReasons, type Rejection, type RejectionReason } from "./rejection-reasons.ts";

/** A request of the ingestion API, its body decoded. */
export interface IngestRequest {
  /** `batch`, or the call that the path names. */
  readonly kind: "batch" | CallType;
  readonly body: unknown;
  /** When it came in, in milliseconds since 1970. */
  readonly receivedAt: number;
  readonly ip?: string | undefined;
}

/** What a request asks for: calls to accept, messages to keep as rejected, or neither because it is refused whole. */
export type Interpretation =
  | { readonly ok: true; readonly calls: readonly IngestedCall[]; readonly rejections: readonly Rejection[] }
  | { readonly ok: false; readonly refusal: Refusal };

/** Reads the messages of a request. Good ones are never lost with bad ones: each has its own verdict. */
export function interpretRequest(request: IngestRequest): Interpretation {
  const { kind, body } = request;
  if (!isRecord(body)) return { ok: true, calls: [], rejections: [rejection("not_an_object", body)] };
  if (kind !== "batch") return judge([body], { ...request, type: kind });
  const envelope = withoutNulls(body);
  const { batch } = envelope;
  if (!Array.isArray(batch)) return { ok: true, calls: [], rejections: [rejection("no_batch", body)] };
  if (batch.length > MAX_BATCH_MESSAGES) {
    const detail = `The batch has ${batch.length} messages; the limit is ${MAX_BATCH_MESSAGES}.`;
    return { ok: false, refusal: tooLarge(detail) };
  }
  return judge(batch, {
    receivedAt: request.receivedAt,
    ip: request.ip,
    // Older clients call the time of sending `timestamp`.
    sentAt: envelope["sentAt"] ?? envelope["timestamp"],
    shared: readSharedFields(envelope),
    batchId: envelope["messageId"],
  });
}

/** What is known of a rejected message, besides itself. */
export interface RejectionFacts {
  /** Narrower than the sentence of the reason. */
  readonly detail?: string;
  /** Its place in the batch. */
  readonly index?: number;
  /** The type that the path gave it. */
  readonly type?: CallType | undefined;
}

/** The rejection of a message, or with `index` absent of a request as a whole. */
export function rejection(reason: RejectionReason, message: unknown, facts: RejectionFacts = {}): Rejection {
  const fields = isRecord(message) ? message : {};
  const type = facts.type ?? fields["type"];
  const messageId = fields["messageId"];
  return {
    reason,
    detail: facts.detail ?? rejectionReasons[reason],
    ...(facts.index !== undefined && { index: facts.index }),
    ...(typeof type === "string" && { type: type.slice(0, 100) }),
    ...(typeof messageId === "string" && { messageId: messageId.slice(0, 100) }),
    message,
  };
}

type BatchSurroundings = Omit<CallSurroundings, "fallbackKey"> & { readonly batchId?: unknown };

function judge(
  messages: readonly unknown[],
  { batchId, ...surroundings }: BatchSurroundings,
): Interpretation {
  const calls: IngestedCall[] = [];
  const rejections: Rejection[] = [];
  for (const [index, message] of messages.entries()) {
    const fallbackKey = typeof batchId === "string" && batchId !== "" ? `${batchId}#${index}` : undefined;
    const verdict = normalizeCall(message, { ...surroundings, fallbackKey });
    if (verdict.ok) {
      calls.push(verdict.call);
      continue;
    }
    const { reason, detail } = verdict;
    const { type } = surroundings;
    rejections.push(rejection(reason, message, { detail, ...(type ? { type } : { index }) }));
  }
  return { ok: true, calls, rejections };
}
