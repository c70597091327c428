import type { Audit } from "./audits/audit.ts";

/** How many names an error proposes in place of an unknown one. */
const MAX_PROPOSALS = 3;

/** The audits of these ids, in the order of the table. @throws TypeError for an unknown id, naming those close to it. */
export function selectAudits(
  audits: readonly Audit[],
  only: readonly string[] | undefined,
): readonly Audit[] {
  if (only === undefined) return audits;
  if (only.length === 0)
    throw new TypeError("only is empty: name at least one audit, or leave it out to run them all.");
  const ids = audits.map(({ id }) => id);
  for (const id of only) {
    if (!ids.includes(id))
      throw new TypeError(`There is no audit ${JSON.stringify(id)}. ${propose(id, ids)}`);
  }
  return audits.filter(({ id }) => only.includes(id));
}

function propose(unknown: string, ids: readonly string[]): string {
  const ranked = ids
    .map((id) => ({ id, distance: distanceTo(id, unknown.toLowerCase()) }))
    .toSorted((a, b) => a.distance - b.distance);
  const closest = ranked[0]?.distance ?? 0;
  const near = ranked.filter(({ distance }) => distance <= closest + 2).slice(0, MAX_PROPOSALS);
  return `Did you mean ${near.map(({ id }) => id).join(" or ")}?`;
}

function distanceTo(id: string, unknown: string): number {
  return id.includes(unknown) ? 0 : distanceBetween(unknown, id);
}

/** Levenshtein's distance, in which a name typed in part is closer than one with other letters. */
function distanceBetween(a: string, b: string): number {
  let previous = Array.from({ length: b.length + 1 }, (_, column) => column / 2);
  for (const letter of a) {
    const row = [(previous[0] ?? 0) + 1];
    for (let column = 1; column <= b.length; column++) {
      const left = (row[column - 1] ?? 0) + 0.5;
      const above = (previous[column] ?? 0) + 1;
      const diagonal = (previous[column - 1] ?? 0) + (letter === b[column - 1] ? 0 : 1);
      row.push(Math.min(left, above, diagonal));
    }
    previous = row;
  }
  return previous[b.length] ?? 0;
}
