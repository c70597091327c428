import type { Clock } from "@countersign/protocol";
import type { StoredDelivery, StoredPart } from "@countersign/sender/store";
import type { Connections } from "../database/connections.ts";
import { decodeText, encodeText } from "../database/text.ts";
import type { DayPartitions } from "../schema/day-partitions.ts";
import type { Names } from "../schema/names.ts";
import {
  daysOfTaken,
  takeEndedSql,
  takePendingSql,
  takeValues,
  waitingSql,
} from "../tables/take-statement.ts";
import { bySource, TakenTables } from "../tables/taken-tables.ts";
import type { Membership } from "../workers/membership.ts";
import type { Maintenance } from "./maintenance.ts";

/** Bytes that one command stores, about: one that takes longer than the time for an answer never gets one. */
const BYTES_AT_ONCE = 4_000_000;

/** The parts that a takeover uses. */
export interface TakeoverOptions {
  readonly connections: Connections;
  readonly names: Names;
  readonly partitions: DayPartitions;
  readonly maintenance: Maintenance;
  readonly membership: Membership;
  readonly clock: Clock;
}

/** Takes over what another store has kept. */
export class Takeover {
  readonly #options: TakeoverOptions;
  readonly #tables: TakenTables;

  constructor(options: TakeoverOptions) {
    this.#options = options;
    this.#tables = new TakenTables(options.connections, options.names);
  }

  /** @returns the destinations that have more pending deliveries now */
  async take(part: StoredPart): Promise<readonly string[]> {
    if (part.kind === "deliveries") return this.#deliveries(part.deliveries);
    if (part.kind === "keys") {
      const { maintenance } = this.#options;
      // First: what is older than keys are kept for is removed.
      if (part.keepForMs > maintenance.keepKeysMs) await maintenance.keepKeysFor(part.keepForMs);
      await this.#tables.keys(part);
    } else if (part.kind === "trait") await this.#tables.trait(part);
    else if (part.kind === "usage") await this.#tables.usage(part);
    else await this.#tables.skipped(part.calls);
    return [];
  }

  async #deliveries(deliveries: readonly StoredDelivery[]): Promise<readonly string[]> {
    const stirred = new Set<string>();
    for (const [source, own] of bySource(deliveries)) {
      const pending = own.filter(({ state }) => state === "pending");
      const ended = own.filter(({ state }) => state !== "pending");
      for (const some of splitByBytes(ended)) await this.#store(takeEndedSql, source, some);
      for (const some of splitByBytes(await this.#unknown(source, pending))) {
        const rows = await this.#store(takePendingSql, source, some);
        for (const { destination } of rows) stirred.add(decodeText(destination));
      }
    }
    return [...stirred];
  }

  /** Those that do not wait here. */
  async #unknown(source: string, deliveries: readonly StoredDelivery[]): Promise<readonly StoredDelivery[]> {
    if (deliveries.length === 0) return [];
    const { connections, names } = this.#options;
    const ids = deliveries.map(({ id }) => encodeText(id));
    const rows = await connections.query<{ readonly id: string }>("work", { text: waitingSql(names) }, [
      encodeText(source),
      ids,
    ]);
    const waiting = new Set(rows.map(({ id }) => decodeText(id)));
    return deliveries.filter(({ id }) => !waiting.has(id));
  }

  #store(
    sqlOf: (names: Names) => string,
    source: string,
    deliveries: readonly StoredDelivery[],
  ): Promise<readonly { readonly destination: string }[]> {
    const { connections, names, partitions, membership, clock } = this.#options;
    const now = Math.floor(clock.now());
    const values = takeValues(source, membership.id, deliveries, now);
    return partitions.storing(daysOfTaken(deliveries, now), () =>
      connections.query("work", { text: sqlOf(names) }, values),
    );
  }
}

function splitByBytes(deliveries: readonly StoredDelivery[]): readonly (readonly StoredDelivery[])[] {
  const parts: StoredDelivery[][] = [];
  let bytes = BYTES_AT_ONCE;
  for (const delivery of deliveries) {
    const more =
      delivery.body.length + delivery.attempts.reduce((sum, { response }) => sum + response.length, 0);
    if (bytes + more > BYTES_AT_ONCE) {
      parts.push([]);
      bytes = 0;
    }
    bytes += more;
    parts.at(-1)?.push(delivery);
  }
  return parts;
}
