import type { CallOptions, Receipt, Sender, SyncReceipt } from "@countersign/sender";
import { ref, type Operation } from "./operation.ts";
import { bodies } from "./schemas.ts";

/** What is about users rather than calls: audiences, computed traits and deletions. */
export const userOperations: readonly Operation[] = [
  {
    method: "PUT",
    path: "/audiences/{name}",
    id: "syncAudience",
    summary:
      "Sends an audience's changes: one identify message for each user who joined or left since the last sync.",
    body: bodies.audience,
    answer: { status: 200, schema: ref("SyncReceipt") },
    async handle({ sender }, { params, body }) {
      const { userIds, source } = body as { readonly userIds: readonly string[]; readonly source?: string };
      return syncJson(await sender.syncAudience(params["name"] ?? "", userIds, options(sender, source)));
    },
  },
  {
    method: "PUT",
    path: "/computed-traits/{name}",
    id: "syncComputedTrait",
    summary:
      "Sends a computed trait's changes: one identify message for each user whose value changed. null removes the value.",
    body: bodies.computedTrait,
    answer: { status: 200, schema: ref("SyncReceipt") },
    async handle({ sender }, { params, body }) {
      const { values, source } = body as {
        readonly values: Readonly<Record<string, unknown>>;
        readonly source?: string;
      };
      return syncJson(await sender.syncComputedTrait(params["name"] ?? "", values, options(sender, source)));
    },
  },
  {
    method: "POST",
    path: "/deletions",
    id: "deleteUser",
    summary: "Reports a user's deletion: one delete message for each affected source.",
    body: bodies.deletion,
    answer: { status: 201, schema: { type: "array", items: ref("Receipt") } },
    async handle({ sender }, { body }) {
      const { userId, ...rest } = body as { readonly userId: string; readonly sources?: readonly string[] };
      return (await sender.deleteUser(userId, rest)).map(receiptJson);
    },
  },
];

/** With a single source there is nothing to choose. */
function options(sender: Sender, source: string | undefined): CallOptions {
  const { sources } = sender.settings;
  const name = source ?? (sources.length === 1 ? sources[0]?.name : undefined);
  return name === undefined ? {} : { source: name };
}

function receiptJson({ messageId, deliveries, skipped }: Receipt): object {
  return { messageId, deliveries, ...(skipped !== undefined && { skipped }) };
}

function syncJson({ changed, removed, deliveries }: SyncReceipt): object {
  return { changed, removed, deliveries };
}
