import {
  type Delivery,
  type DeliveryFilter,
  type DeliverySummary,
  firstAccepted,
  limitOf,
  type ListOrder,
  valuesOf,
} from "@countersign/sender/store";
import type { Connections } from "../database/connections.ts";
import { keptStatement } from "../database/kept-statement.ts";
import { decodeText, encodeText } from "../database/text.ts";
import { inSchema, type Names } from "../schema/names.ts";
import { deliveryOf, type FullRow, type SummaryRow, summaryOf } from "./delivery-rows.ts";
import { namesThatBeginWith } from "./event-names.ts";
import { beginsWith, conditionsOf, isNamed, OF_ANY_SOURCE, SOURCES, Values } from "./filter-sql.ts";
import { countKept } from "./tallies.ts";

type DeliveryState = DeliverySummary["state"];

const SHARED = `source, id, destination, message_id, type, identity, event, accepted_at, attempts, last, resend_of`;
const PENDING = `${SHARED}, 'pending' AS state, due_at, NULL::bigint AS ended_at`;
const ENDED = `${SHARED}, state, NULL::bigint AS due_at, ended_at`;
const BODY = `(SELECT body FROM $.message AS m WHERE m.source = d.source AND m.id = d.message AND m.day = d.message_day) AS body`;
const SOURCES_OF_ID = ["delivery", "ended"]
  .map(
    (table) =>
      `SELECT source, accepted_at AS "acceptedAt" FROM $.${table} WHERE source IN (${SOURCES}) AND id = $1`,
  )
  .join(" UNION ALL ");
const SORTED: Readonly<Record<ListOrder, string>> = {
  "newest first": "ORDER BY accepted_at DESC, id DESC",
  "oldest first": "ORDER BY accepted_at, id",
};

/**
 * A delivered copy is the evidence that a message has arrived: it stays as long as a delivery of the message that failed. That may
 * be another one than it was made of, which may be gone.
 */
const IS_NO_EVIDENCE = `(resend_of IS NULL OR state <> 'delivered' OR NOT EXISTS (SELECT FROM $.ended AS o
  WHERE o.message_id = ended.message_id AND o.destination = ended.destination AND o.state <> 'delivered'))`;

/** A question to one table. */
interface Part {
  readonly table: string;
  readonly columns: string;
  readonly where: string;
  /** Names of events, each of which is asked for alone: in `where`, it is `name`. */
  readonly names?: string | undefined;
}

/** What a question is for. */
type Purpose = "listed" | "removable" | "counted";

/** Reads deliveries back, for people to look at. */
export class DeliveryLog {
  readonly #connections: Connections;
  readonly #names: Names;

  constructor(connections: Connections, names: Names) {
    this.#connections = connections;
    this.#names = names;
  }

  async find(id: string, source: string | undefined): Promise<Delivery | undefined> {
    const of = source ?? (await this.sourceOf(id));
    if (of === undefined) return undefined;
    const where = "source = $2 AND id = $1";
    const values = [encodeText(id), encodeText(of)];
    const pending = this.#ask<FullRow>(
      "find_pending",
      `SELECT ${PENDING}, '[]' AS log, ${BODY} FROM $.delivery AS d WHERE ${where}`,
      values,
    );
    const ended = (): Promise<readonly FullRow[]> =>
      this.#ask("find_ended", `SELECT ${ENDED}, log, ${BODY} FROM $.ended AS d WHERE ${where}`, values);
    const [[waiting], [over]] = await Promise.all([pending, ended()]);
    // One that ends meanwhile may be found in both tables, or in neither.
    const row = over ?? waiting ?? (await ended())[0];
    return row && deliveryOf(row, await this.#earlier(row));
  }

  /** The source of the delivery that an id means. */
  async sourceOf(id: string): Promise<string | undefined> {
    const rows = await this.#ask<{ source: string; acceptedAt: number }>("find_source", SOURCES_OF_ID, [
      encodeText(id),
    ]);
    return firstAccepted(rows.map((row) => ({ ...row, source: decodeText(row.source) })))?.source;
  }

  async list(filter: DeliveryFilter, order?: ListOrder): Promise<readonly DeliverySummary[]> {
    return (await this.#first<SummaryRow>(filter, order)).map(summaryOf);
  }

  async count(filter: DeliveryFilter): Promise<number> {
    const { limit: _, after: __, ...asked } = filter;
    const kept = await countKept(this.#connections, this.#names, asked);
    if (kept !== undefined) return kept;
    const values = new Values();
    const parts = this.#parts(
      asked,
      values,
      ({ table, where }) => `SELECT FROM $.${table} WHERE ${where}`,
      "counted",
    );
    if (parts.length === 0) return 0;
    const [row] = await this.#query<{ count: number }>(
      `SELECT count(*) AS count FROM (${parts.join(" UNION ALL ")}) AS d`,
      values.list,
    );
    return row?.count ?? 0;
  }

  /** Ended deliveries that match and may be removed, the newest first, with their day. */
  async removable(filter: DeliveryFilter): Promise<readonly { source: string; id: string; day: number }[]> {
    return this.#first(filter, "newest first", "source, id, day, accepted_at");
  }

  /** The first that match. @param columns Of ended deliveries that may be removed; without them, all that is shown of any. */
  async #first<Row>(
    filter: DeliveryFilter,
    order: ListOrder = "newest first",
    columns?: string,
  ): Promise<readonly Row[]> {
    const names =
      filter.q === undefined ? undefined : await namesThatBeginWith(this.#connections, this.#names, filter.q);
    const values = new Values();
    const limit = values.add(limitOf(filter));
    const sorted = `${SORTED[order]} LIMIT ${limit}`;
    const write = ({ table, columns: shown, where, names: named }: Part): string => {
      const rows = `(SELECT ${columns ?? shown} FROM $.${table} WHERE ${where} ${sorted})`;
      return named === undefined
        ? rows
        : `(SELECT r.* FROM unnest(${named}::text[]) AS name CROSS JOIN LATERAL ${rows} AS r ${sorted})`;
    };
    const purpose = columns === undefined ? "listed" : "removable";
    const parts = this.#parts(filter, values, write, purpose, order, names);
    if (parts.length === 0) return [];
    const text = `SELECT DISTINCT ON (accepted_at, id, source) * FROM (${parts.join(" UNION ALL ")}) AS d ${sorted}`;
    return this.#query(text, values.list);
  }

  /**
   * One question for each table, and for each column that is searched: each then has an index that answers it in order. Those
   * that are claimed have none, and are few. To count, none has what an earlier one has: to compare all that was found would take
   * longer than to find it.
   */
  #parts(
    filter: DeliveryFilter,
    values: Values,
    write: (part: Part) => string,
    purpose: Purpose,
    order?: ListOrder,
    names?: readonly string[],
  ): readonly string[] {
    const { q, state } = filter;
    const { all, any } = conditionsOf(filter, values, order);
    const states = state === undefined ? undefined : valuesOf(state);
    const parts: string[] = [];
    const ask = (
      table: string,
      columns: string,
      more: readonly string[],
      byName: readonly string[] | undefined,
    ): void => {
      const add = (search: string, named?: string): void =>
        void parts.push(
          write({ table, columns, where: [...all, ...more, search].join(" AND "), names: named }),
        );
      if (q === undefined) return add("true");
      if (byName === undefined) {
        const searches = [...any, beginsWith(q, values)];
        for (const search of purpose === "counted" ? eachAlone(searches) : searches) add(search);
        return;
      }
      for (const search of any) add(search);
      if (byName.length > 0) add(isNamed(q, values), values.add(byName));
    };
    if (purpose !== "removable" && (states === undefined || states.includes("pending"))) {
      ask("delivery", PENDING, ["worker IS NULL"], names);
      // They are few, and no index has them by name.
      ask("delivery", PENDING, ["worker IS NOT NULL"], undefined);
    }
    const ended = states?.filter((one): one is DeliveryState => one !== "pending");
    if (ended === undefined || ended.length > 0) {
      const more = ended === undefined ? [] : [stateCondition(ended, values)];
      if (purpose === "removable") more.push(IS_NO_EVIDENCE);
      ask("ended", ENDED, more, names);
    }
    return parts;
  }

  async #earlier({ source, id }: FullRow): Promise<readonly string[]> {
    const text = "SELECT log FROM $.attempt WHERE source = $1 AND delivery = $2 ORDER BY logged_at, token";
    const rows = await this.#ask<{ log: string }>("earlier", text, [source, id]);
    return rows.map(({ log }) => log);
  }

  #ask<Row>(name: string, sql: string, values: readonly unknown[]): Promise<readonly Row[]> {
    return this.#connections.query<Row>("read", keptStatement(name, inSchema(this.#names, sql)), values);
  }

  #query<Row>(sql: string, values: readonly unknown[]): Promise<readonly Row[]> {
    const statement = { text: inSchema(this.#names, sql), isFiltered: true };
    return this.#connections.query<Row>("read", statement, values);
  }
}

/** Conditions that leave out that for which one before them holds, whatever its source, which is asked for an index alone. */
function eachAlone(conditions: readonly string[]): readonly string[] {
  return conditions.map((condition, position) =>
    [
      condition,
      ...conditions.slice(0, position).map((before) => `(${before.replace(OF_ANY_SOURCE, "")}) IS NOT TRUE`),
    ].join(" AND "),
  );
}

/** Written out, so that the index of what was lost can be used. */
function stateCondition(states: readonly DeliveryState[], values: Values): string {
  const isLost = states.every((state) => state !== "delivered");
  return `state = ANY (${values.add(states)}::text[])${isLost ? " AND state <> 'delivered'" : ""}`;
}
