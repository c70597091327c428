import { type KnownTrait, StoreError, type TraitChanges } from "@countersign/sender/store";
import type { Connections, Run } from "../database/connections.ts";
import { decodeText, encodeText } from "../database/text.ts";
import { beginningOf, beginningOfText, inSchema, KNOWN_TRAIT_KEY, type Names } from "../schema/names.ts";

/** Users that one command changes: a command that takes longer than the time for an answer never gets one. */
const MOST_AT_ONCE = 10_000;

/** The version of a trait that no sync has claimed. */
const UNCLAIMED = "0";

/** Everything of a trait with its version, as of one instant. */
const READ = `SELECT o.kind, o.name, o.version, k.destination, k.user_id, k.value
  FROM (SELECT $1::text AS source, $2::text AS trait) AS g
  LEFT JOIN $.trait_owner AS o ON o.source = g.source AND o.trait = g.trait
  LEFT JOIN $.known_trait AS k ON k.source = g.source AND k.trait = g.trait AND k.destination = ANY ($3::text[])`;

interface TraitRow {
  readonly kind: "audience" | "computed trait" | null;
  readonly name: string | null;
  readonly version: number | null;
  readonly destination: string | null;
  readonly user_id: string | null;
  readonly value: string | null;
}

export async function readTrait(
  connections: Connections,
  names: Names,
  asked: { readonly source: string; readonly trait: string; readonly destinations: readonly string[] },
): Promise<KnownTrait> {
  const { source, trait, destinations } = asked;
  const values = [encodeText(source), encodeText(trait), destinations.map(encodeText)];
  const rows = await connections.query<TraitRow>("read", { text: inSchema(names, READ) }, values);
  const [first] = rows;
  const known = new Map(destinations.map((destination) => [destination, new Map<string, string>()]));
  for (const { destination, user_id: userId, value } of rows) {
    if (destination === null || userId === null || value === null) continue;
    known.get(decodeText(destination))?.set(decodeText(userId), decodeText(value));
  }
  const owner =
    first === undefined || first.kind === null || first.name === null
      ? undefined
      : { kind: first.kind, name: decodeText(first.name) };
  return { owner, values: known, version: String(first?.version ?? UNCLAIMED) };
}

const CLAIM = `INSERT INTO $.trait_owner (source, trait, kind, name, version) VALUES ($1, $2, $3, $4, 1)
  ON CONFLICT DO NOTHING RETURNING version`;
const RENEW = `UPDATE $.trait_owner SET version = version + 1 WHERE source = $1 AND trait = $2 AND version = $3 RETURNING version`;
const SET = `INSERT INTO $.known_trait (source, trait, destination, user_id, value)
  SELECT $1, $2, $3, u.user_id, u.value FROM unnest($4::text[], $5::text[]) AS u (user_id, value)
  ON CONFLICT (${KNOWN_TRAIT_KEY}) DO UPDATE SET value = excluded.value`;
const FORGET = `DELETE FROM $.known_trait WHERE source = $1 AND trait = $2 AND destination = $3
  AND ${beginningOf("user_id")} = ANY ($5::text[]) AND user_id = ANY ($4::text[])`;

/** @throws StoreError `ERR_STORE_CHANGED` when another sync was faster */
export async function changeTrait(run: Run, names: Names, changes: TraitChanges): Promise<void> {
  const { owner, values, version } = changes;
  const key = [encodeText(changes.source), encodeText(changes.trait)];
  const renewed =
    version === UNCLAIMED
      ? await run(inSchema(names, CLAIM), [...key, owner.kind, encodeText(owner.name)])
      : await run(inSchema(names, RENEW), [...key, version]);
  if (renewed.length === 0) {
    throw new StoreError(
      "ERR_STORE_CHANGED",
      `Another sync has changed the trait ${changes.trait} meanwhile. Read what is known of it again.`,
    );
  }
  for (const [destination, byUser] of values) {
    const at = [...key, encodeText(destination)];
    const changed = [...byUser];
    for (let from = 0; from < changed.length; from += MOST_AT_ONCE) {
      const some = changed.slice(from, from + MOST_AT_ONCE);
      const set = some.filter((entry): entry is [string, string] => entry[1] !== null);
      const forgotten = some.flatMap(([user, value]) => (value === null ? [encodeText(user)] : []));
      const columns = [set.map(([user]) => encodeText(user)), set.map(([, value]) => encodeText(value))];
      if (set.length > 0) await run(inSchema(names, SET), [...at, ...columns]);
      if (forgotten.length > 0)
        await run(inSchema(names, FORGET), [...at, forgotten, forgotten.map(beginningOfText)]);
    }
  }
}
