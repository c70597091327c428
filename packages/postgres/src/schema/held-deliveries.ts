import type { ElementType } from "../database/binary-array.ts";
import { dayOfColumn } from "./names.ts";

/** What is known of a delivery when it is accepted. */
export const NEW_COLUMNS: Readonly<Record<string, ElementType>> = {
  id: "text",
  message: "text",
  destination: "text",
  message_id: "text",
  type: "text",
  identity: "text",
  event: "text",
  accepted_at: "bigint",
};

/** The same in the table `held`: an array of each. */
export const HELD_ARRAYS: Readonly<Record<string, string>> = {
  id: "ids",
  message: "messages",
  destination: "destinations",
  message_id: "message_ids",
  type: "types",
  identity: "identities",
  event: "events",
  accepted_at: "accepted_ats",
};

const NAMES = Object.keys(NEW_COLUMNS);
const ARRAYS = Object.values(HELD_ARRAYS)
  .map((array) => `h.${array}`)
  .join(", ");
/** Collations of elements are not those of their arrays. */
const SHOWN = Object.entries(NEW_COLUMNS)
  .map(([name, type]) => (type === "text" ? `n.${name} COLLATE "C" AS ${name}` : `n.${name}`))
  .join(", ");

/**
 * SQL for rows of the table `held` as the deliveries that they are, with the columns of the table `delivery`: without those that
 * have ended.
 *
 * @param from What the rows come from.
 */
export function heldDeliveries(from = "$.held"): string {
  return `(SELECT h.source, ${SHOWN}, ${dayOfColumn("n.accepted_at")} AS message_day, n.accepted_at AS due_at, h.worker, h.claim,
      0 AS rounds, 0 AS attempts, NULL::text AS last, NULL::text COLLATE "C" AS last_outcome,
      NULL::integer AS last_status, NULL::text COLLATE "C" AS last_endpoint, NULL::text COLLATE "C" AS resend_of
    FROM ${from} AS h CROSS JOIN LATERAL unnest(${ARRAYS}) WITH ORDINALITY AS n (${NAMES.join(", ")}, position)
    WHERE get_bit(h.ended, n.position::integer - 1) = 0)`;
}

/** Columns that a delivery is stored with. */
export const STORED_COLUMNS = `source, id, message, destination, message_id, type, identity, event, accepted_at, message_day, due_at`;

/**
 * SQL of two parts of a WITH: rows of the table `held` become rows of the table `delivery`, which nobody has claimed.
 *
 * @param which Condition for the rows, as `h`, with what comes before it, such as `USING gone WHERE h.worker = gone.id`.
 */
export function divideSql(which: string): string {
  return `taken AS (DELETE FROM $.held AS h ${which} RETURNING h.*),
    divided AS (INSERT INTO $.delivery (${STORED_COLUMNS}) SELECT ${STORED_COLUMNS} FROM ${heldDeliveries("taken")} AS d)`;
}
