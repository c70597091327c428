import { describeValue, nameKind, nearestName } from "@countersign/protocol";
import type { Audit } from "./audits/audit.ts";
import { audits } from "./audits/audits.ts";

/** How many names an error proposes for an unknown one. */
const MAX_PROPOSALS = 3;

/**
 * The audits of these ids, in the order in which they run, as {@link certify} selects them.
 *
 * @param only The ids; without them, all audits.
 * @throws TypeError for an unknown id, naming those close to it, for an empty list, and for what is no list
 * @example
 * ```ts
 * selectAudits(["rejects-get"]).map(({ title }) => title);
 * ```
 */
export function selectAudits(only: readonly string[] | undefined): readonly Audit[] {
  if (only === undefined) return audits;
  if (!Array.isArray(only)) throw new TypeError(`only must be a list of audits, not ${nameKind(only)}.`);
  if (only.length === 0)
    throw new TypeError("only is empty: name at least one audit, or leave it out to run all.");
  const ids = audits.map(({ id }) => id);
  for (const id of only) {
    if (!ids.includes(id)) throw new TypeError(`Unknown audit ${describeValue(id)}. ${propose(id, ids)}`);
  }
  return audits.filter(({ id }) => only.includes(id));
}

function propose(unknown: unknown, ids: readonly string[]): string {
  const text = String(unknown).toLowerCase();
  const containing = text === "" ? [] : ids.filter((id) => id.includes(text));
  const nearest = nearestName(text, ids);
  const proposals = containing.length > 0 ? containing : [nearest ?? []].flat();
  if (proposals.length === 0) return `The audits are ${ids.join(", ")}.`;
  return `Did you mean ${proposals.slice(0, MAX_PROPOSALS).join(" or ")}?`;
}
