import { limitOf, type SkippedCall, type SkippedFilter } from "@countersign/sender/store";
import type { Connections } from "../database/connections.ts";
import { decodeOptional, decodeText } from "../database/text.ts";
import { inSchema, type Names } from "../schema/names.ts";
import { skippedConditionsOf, Values } from "./filter-sql.ts";

interface SkippedRow {
  readonly source: string;
  readonly id: string;
  readonly message_id: string;
  readonly type: SkippedCall["type"];
  readonly identity: string;
  readonly event: string | null;
  readonly accepted_at: number;
  readonly reason: SkippedCall["reason"];
}

/** Calls that went to no destination, the newest first. */
export async function listSkipped(
  connections: Connections,
  names: Names,
  filter: SkippedFilter,
): Promise<readonly SkippedCall[]> {
  const values = new Values();
  const limit = values.add(limitOf(filter));
  const { all, any } = skippedConditionsOf(filter, values);
  const where = [...all, any.length === 0 ? "true" : `(${any.join(" OR ")})`].join(" AND ");
  const sql = `SELECT * FROM $.skipped WHERE ${where} ORDER BY accepted_at DESC, id DESC LIMIT ${limit}`;
  const statement = { text: inSchema(names, sql), isFiltered: true };
  return (await connections.query<SkippedRow>("read", statement, values.list)).map(skippedOf);
}

function skippedOf(row: SkippedRow): SkippedCall {
  return {
    id: decodeText(row.id),
    messageId: decodeText(row.message_id),
    type: row.type,
    source: decodeText(row.source),
    identity: decodeText(row.identity),
    event: decodeOptional(row.event),
    acceptedAt: row.accepted_at,
    reason: row.reason,
  };
}
