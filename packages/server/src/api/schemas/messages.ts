import { REJECTION_REASONS } from "../../ingest/rejections.ts";
import { MESSAGE_TYPES, SKIP_REASONS } from "@countersign/sender/store";
import { ref, type Schema, type Schemas } from "../operation.ts";
import { TEXT, DATE_TIME, COUNT, TEXTS, object, CURSOR } from "./parts.ts";

const FIX: Schema = { type: "string", description: "What to do about it." };

const SKIPPED = {
  messageId: TEXT,
  type: { type: "string", enum: [...MESSAGE_TYPES] },
  event: TEXT,
  source: TEXT,
  identity: TEXT,
  reason: { type: "string", enum: [...SKIP_REASONS] },
};

const REJECTED = {
  reason: { type: "string", enum: Object.keys(REJECTION_REASONS) },
  detail: TEXT,
  index: COUNT,
  type: TEXT,
  messageId: TEXT,
};

const WARNED = {
  reason: { type: "string", enum: ["unsafe_integer"] },
  detail: TEXT,
  paths: TEXTS,
  index: COUNT,
  type: TEXT,
  messageId: TEXT,
};

/** Messages on their way in: what was skipped or rejected, and what acceptance answers. */
export const messageSchemas: Schemas = {
  SkippedInfo: object(SKIPPED, ["event"]),
  SkippedCall: object({ id: TEXT, ...SKIPPED, fix: FIX, acceptedAt: DATE_TIME }, ["event"]),
  SkippedPage: object({ calls: { type: "array", items: ref("SkippedCall") }, next: CURSOR }, ["next"]),
  RejectionInfo: object(REJECTED, ["index", "type", "messageId"]),
  Rejection: object(
    { id: COUNT, receivedAt: DATE_TIME, source: TEXT, ...REJECTED, fix: FIX, message: TEXT },
    ["source", "index", "type", "messageId"],
  ),
  WarningInfo: object(WARNED, ["index", "messageId"]),
  Warning: object({ receivedAt: DATE_TIME, source: TEXT, ...WARNED }, ["index", "messageId"]),
  MessageCheck: object({ valid: { type: "boolean" }, errors: { type: "array", items: ref("Issue") } }),
  Receipt: object({ messageId: TEXT, deliveries: TEXTS, skipped: TEXT }, ["skipped"]),
  SyncReceipt: object({ changed: TEXTS, removed: TEXTS, deliveries: TEXTS, skipped: TEXT }, ["skipped"]),
};

export const AUDIENCE_BODY: Schema = object({ userIds: TEXTS, source: TEXT }, ["source"]);

export const COMPUTED_TRAIT_BODY: Schema = object({ values: { type: "object" }, source: TEXT }, ["source"]);

export const DELETION_BODY: Schema = object({ userId: { type: "string", minLength: 1 }, sources: TEXTS }, [
  "sources",
]);
