import type { SyncReceipt } from "@countersign/sender";
import { Problem } from "./problem.ts";
import { ref, type Operation } from "./operation.ts";
import { receiptJson } from "./receipt-json.ts";
import { AUDIENCE_BODY, COMPUTED_TRAIT_BODY, DELETION_BODY } from "./schemas/messages.ts";

/** An audience of some hundred thousand users. */
const MAX_PROFILE_BYTES = 16 * 1_024 * 1_024;

const SYNC_ERRORS = {
  422: "The source does not exist, there are several and none is named, or another audience or trait has the name.",
};

/** What is about users rather than calls: audiences, computed traits and deletions. */
export const userOperations: readonly Operation[] = [
  {
    method: "PUT",
    path: "/audiences/{name}",
    id: "syncAudience",
    summary:
      "Sends an audience's changes: one identify message for each user who joined or left since the last sync.",
    description:
      "`userIds` are all of its members: who is not among them has left. A destination that was enabled since the last sync gets every member.",
    body: AUDIENCE_BODY,
    // A million wrong users would make a million errors; the sender checks them and stops at the first.
    checkedBody: {
      ...AUDIENCE_BODY,
      properties: { userIds: { type: "array" }, source: { type: "string" } },
    },
    maxBodyBytes: MAX_PROFILE_BYTES,
    answer: { status: 200, schema: ref("SyncReceipt") },
    errors: SYNC_ERRORS,
    async handle({ sender }, { params, body }) {
      const { userIds, source } = body as { readonly userIds: readonly string[]; readonly source?: string };
      const wrong = userIds.findIndex((id) => typeof id !== "string");
      if (wrong !== -1) {
        const errors = [{ pointer: `/userIds/${wrong}`, detail: "must be a string." }];
        throw new Problem(400, `/userIds/${wrong} must be a string.`, errors);
      }
      return syncJson(await sender.syncAudience(params["name"] ?? "", userIds, { source }));
    },
  },
  {
    method: "PUT",
    path: "/computed-traits/{name}",
    id: "syncComputedTrait",
    summary: "Sends a computed trait's changes: one identify message for each user whose value changed.",
    description: "null removes the value. Users who are not in `values` keep theirs.",
    body: COMPUTED_TRAIT_BODY,
    maxBodyBytes: MAX_PROFILE_BYTES,
    answer: { status: 200, schema: ref("SyncReceipt") },
    errors: SYNC_ERRORS,
    async handle({ sender }, { params, body }) {
      const { values, source } = body as {
        readonly values: Readonly<Record<string, unknown>>;
        readonly source?: string;
      };
      return syncJson(await sender.syncComputedTrait(params["name"] ?? "", values, { source }));
    },
  },
  {
    method: "POST",
    path: "/deletions",
    id: "deleteUser",
    summary: "Reports a user's deletion: one delete message for each affected source.",
    description:
      "Without `sources`, every source is affected. A source without an enabled destination sends nothing.",
    body: DELETION_BODY,
    answer: { status: 201, schema: { type: "array", items: ref("Receipt") } },
    errors: { 422: "A source does not exist, or the user is not valid." },
    async handle({ sender }, { body }) {
      const { userId, ...rest } = body as { readonly userId: string; readonly sources?: readonly string[] };
      return (await sender.deleteUser(userId, rest)).map(receiptJson);
    },
  },
];

function syncJson({ changed, removed, deliveries, skipped }: SyncReceipt): object {
  return { changed, removed, deliveries, ...(skipped !== undefined && { skipped }) };
}
