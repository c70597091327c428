import type { SenderSettings } from "@countersign/sender";
import { namedDestinations, sourceOf } from "../settings/find-settings.ts";
import { sourceFor } from "./lookups.ts";
import type { ApiContext, OperationInput } from "./operation.ts";
import { Problem } from "./problem.ts";

const STALE_DETAIL =
  "The settings have changed since you read them, so nothing was changed. Read them again with GET /api/sources, and repeat your change.";
const NOT_THERE_DETAIL =
  "There is nothing of this name to change, and If-Match: * forbids to add it, so nothing was changed. Leave the header out to add it.";
const THERE_DETAIL =
  "If-None-Match forbids to change what is there, so nothing was changed. To change it, send If-Match with the ETag of GET /api/sources instead.";

/**
 * Evaluates `If-Match` and `If-None-Match`. An ETag is that of all settings; `*` is about what the path names (RFC 9110, 13.1). Where
 * the answer is 404 without `*`, it is 404 with it (13.2.1).
 *
 * Before a change is read: what it says of settings that somebody else has changed would be taken for its mistakes.
 */
export function assertFresh(context: ApiContext, { request, params }: OperationInput): void {
  const { sender, versions } = context;
  const { "if-match": match, "if-none-match": noneMatch } = request.headers;
  const isThere = exists(sender.settings, params);
  const matches = (given: string): boolean => (given === "*" ? isThere : versions.isCurrent(sender, given));
  if (match !== undefined && !matches(match)) {
    if (match !== "*") throw stale();
    // No destination is added without its source: 404.
    if (params["destination"] !== undefined) sourceFor(context, params["source"] ?? "");
    if (request.method !== "DELETE") throw new Problem(412, NOT_THERE_DETAIL);
  }
  if (noneMatch !== undefined && isThere && matches(noneMatch)) throw new Problem(412, THERE_DETAIL);
}

/** Whether there is the source, or the destination, that a path names. */
function exists(settings: SenderSettings, params: OperationInput["params"]): boolean {
  const source = sourceOf(settings, params["source"] ?? "");
  const { destination } = params;
  if (source === undefined || destination === undefined) return source !== undefined;
  return namedDestinations(source).some(({ name }) => name === destination);
}

/** Of a change of settings that somebody else has changed since they were read. */
export function stale(): Problem {
  return new Problem(412, STALE_DETAIL);
}
