import {
  isMessageId,
  isObject,
  MAX_BATCH_BYTES,
  MAX_BATCH_MESSAGES,
  type CallType,
} from "@countersign/protocol";
import {
  normalizeCall,
  readSharedFields,
  type CallSurroundings,
  type IngestedCall,
  type Verdict,
} from "./normalize-call.ts";
import { refusal, type Refused } from "./refusal.ts";
import { UNSAFE, type UnsafeIntegers } from "./read-integers.ts";
import { rejection, type Rejection, type RejectionReason, type Warning } from "./rejections.ts";
import { takeTurns } from "./take-turns.ts";
import { readTimestamp } from "./timestamps.ts";

/**
 * What a batch may come to once its context and integrations are merged into each of its messages: 8 MiB. Without a limit,
 * 132 KB on the wire would be 82 MB in the store.
 */
const MAX_EXPANDED_BYTES = 8_388_608;

/** Most warnings that one request can cause. */
const MAX_WARNINGS = 100;

const NO_INTEGERS: UnsafeIntegers = new Map();
const NO_WARNINGS: readonly Warning[] = [];

/** A request of the ingestion API, its body decoded. */
export interface IngestRequest {
  /** `batch`, or the call that the path names. */
  readonly kind: "batch" | CallType;
  readonly body: unknown;
  /** When it came in, in milliseconds since 1970. */
  readonly receivedAt: number;
  readonly ip?: string | undefined;
  /** Numbers in the body that JavaScript does not keep. */
  readonly unsafeIntegers?: UnsafeIntegers | undefined;
  /** Whether what is only warned of is refused: `X-Strict-Mode: 1`. */
  readonly strict?: boolean | undefined;
}

/** What a request asks for: calls to accept, messages to keep as rejected, or neither because it is refused whole. */
export type Interpretation =
  | {
      readonly ok: true;
      readonly calls: readonly IngestedCall[];
      readonly rejections: readonly Rejection[];
      readonly warnings: readonly Warning[];
    }
  | Refused;

/** Reads the messages of a request. Each has its own verdict, so that good ones are not lost with bad ones. */
export async function interpretRequest(request: IngestRequest): Promise<Interpretation> {
  const { kind, body, receivedAt, ip } = request;
  if (!isObject(body)) return rejectedWhole("not_an_object", body);
  if (kind !== "batch") return interpretCall(request, { type: kind, receivedAt, ip });
  const batch = body["batch"];
  if (!Array.isArray(batch)) return rejectedWhole("no_batch", body);
  if (batch.length > MAX_BATCH_MESSAGES) {
    return refused(`The batch has ${batch.length} messages; the limit is ${MAX_BATCH_MESSAGES}.`);
  }
  const batchId = body["messageId"];
  if (typeof batchId === "string" && batchId !== "" && !isMessageId(batchId)) {
    return rejectedWhole(
      "message_id_too_long",
      body,
      "The `messageId` of the batch has 100 characters or more.",
    );
  }
  const shared = readSharedFields(body, ip);
  if (!shared.ok) {
    const detail = `The \`context\` and \`integrations\` of the batch: ${shared.detail}`;
    return rejectedWhole(shared.reason, body, detail);
  }
  if (MAX_BATCH_BYTES + shared.value.bytes * batch.length > MAX_EXPANDED_BYTES) {
    return refused(
      `The batch has ${batch.length} messages that share ${shared.value.bytes} bytes of \`context\` and \`integrations\`. Send it in smaller batches.`,
    );
  }
  return judgeBatch(request, batch, batchId, {
    receivedAt,
    ip,
    // Older clients call the time of sending `timestamp`.
    sentAt: readTimestamp(body["sentAt"] ?? body["timestamp"]),
    shared: shared.value,
  });
}

function refused(detail: string): Refused {
  return { ok: false, refusal: refusal("payload_too_large", detail) };
}

function rejectedWhole(reason: RejectionReason, body: unknown, detail?: string): Interpretation {
  return { ok: true, calls: [], rejections: [rejection(reason, body, { detail })], warnings: [] };
}

/** A single call that is too large is refused, as a batch is; in a batch it is one message among others. */
function interpretCall(request: IngestRequest, surroundings: CallSurroundings): Interpretation {
  const { body } = request;
  const { verdict, warnings } = judge(request, body, surroundings);
  if (verdict.ok) return { ok: true, calls: [verdict.value], rejections: [], warnings };
  const { reason, detail } = verdict;
  if (reason === "message_too_large") return refused(detail);
  const { type } = surroundings;
  return { ok: true, calls: [], rejections: [rejection(reason, body, { detail, type })], warnings };
}

async function judgeBatch(
  request: IngestRequest,
  messages: readonly unknown[],
  batchId: unknown,
  surroundings: CallSurroundings,
): Promise<Interpretation> {
  const calls: IngestedCall[] = [];
  const rejections: Rejection[] = [];
  const warnings: Warning[] = [];
  const hasId = typeof batchId === "string" && batchId !== "";
  const turn = takeTurns();
  for (let index = 0; index < messages.length; index += 1) {
    const message = messages[index];
    const own = hasId ? { ...surroundings, fallbackKey: `${batchId}#${index}` } : surroundings;
    const judgement = judge(request, message, own, index);
    const { verdict } = judgement;
    if (verdict.ok) calls.push(verdict.value);
    else rejections.push(rejection(verdict.reason, message, { detail: verdict.detail, index }));
    if (warnings.length < MAX_WARNINGS) warnings.push(...judgement.warnings);
    const pause = turn();
    if (pause !== undefined) await pause;
  }
  return { ok: true, calls, rejections, warnings };
}

interface Judgement {
  readonly verdict: Verdict<IngestedCall>;
  readonly warnings: readonly Warning[];
}

/** Numbers that JavaScript does not keep are refused in strict mode, and warned of otherwise. */
function judge(
  { strict, unsafeIntegers = NO_INTEGERS }: IngestRequest,
  message: unknown,
  surroundings: CallSurroundings,
  index?: number,
): Judgement {
  const verdict = normalizeCall(message, surroundings);
  if (!verdict.ok || unsafeIntegers.size === 0) return { verdict, warnings: NO_WARNINGS };
  const shared = unsafeIntegers.get(undefined) ?? [];
  const own = index === undefined ? [] : (unsafeIntegers.get(index) ?? []);
  if (shared.length + own.length === 0) return { verdict, warnings: NO_WARNINGS };
  const paths = [...shared, ...own];
  const detail = `\`${paths[0]}\` is ${UNSAFE}`;
  if (strict) return { verdict: { ok: false, reason: "unsafe_integer", detail }, warnings: [] };
  const { type, messageId } = verdict.value.call;
  const facts = {
    ...(index !== undefined && { index }),
    type,
    ...(messageId !== undefined && { messageId }),
  };
  return { verdict, warnings: [{ reason: "unsafe_integer", detail, paths, ...facts }] };
}
