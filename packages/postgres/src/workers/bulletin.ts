import pg from "pg";
import {
  type DeliveryInfo,
  type DueDelivery,
  type RemoteEvent,
  type Settlement,
  sourceOf,
} from "@countersign/sender/store";
import type { Connections } from "../database/connections.ts";
import { keptStatement } from "../database/kept-statement.ts";
import { isUnknown } from "../database/postgres-error.ts";
import type { PostgresClient } from "../database/postgres-pool.ts";
import { RESULT_TYPES } from "../database/result-types.ts";
import { SERVER_START } from "../database/server-start.ts";
import { answered } from "../database/within.ts";
import type { Names } from "../schema/names.ts";
import { GatheredNews, type News } from "./gathered-news.ts";
import type { Membership } from "./membership.ts";

interface Notice extends News {
  readonly from: string;
  readonly probe?: string | undefined;
}

/** PostgreSQL takes less than 8,000 bytes. */
const MAX_BYTES = 7_900;
const RETRY_MS = 500;

/** How long to wait for one's own notice before concluding that a pooler is in between. */
const PROBE_MS = 2_000;

/** Who hears what other processes tell. */
export interface BulletinListener {
  told(news: News): void;
  /** Notices may have been missed: the connection was made, or made again. */
  missed(): void;
}

/**
 * Tells other processes what happened (LISTEN/NOTIFY): notices are hints, and a process that misses one finds out by asking.
 * Behind a pooler that changes connections between transactions no notice arrives; the store then asks more often.
 */
export class Bulletin {
  readonly #connections: Connections;
  readonly #names: Names;
  readonly #membership: Pick<Membership, "hasOthers">;
  readonly #from: string;
  #listener: BulletinListener | undefined;
  readonly #gathered = new GatheredNews();
  #isSending = false;
  #client: PostgresClient | undefined;
  #hears = false;
  #isDeaf = false;
  #timer: NodeJS.Timeout | undefined;
  #probe: string | undefined;
  #isClosed = false;

  /** @param membership Says whether anybody else listens. */
  constructor(connections: Connections, names: Names, membership: Pick<Membership, "hasOthers" | "id">) {
    this.#connections = connections;
    this.#names = names;
    this.#membership = membership;
    this.#from = membership.id;
  }

  /** Whether notices arrive. */
  get hears(): boolean {
    return this.#hears;
  }

  /** Whether it was tried, and notices do not arrive. */
  get isDeaf(): boolean {
    return this.#isDeaf;
  }

  /** Listens, and does so again whenever the connection breaks. */
  async listen(listener: BulletinListener): Promise<void> {
    this.#listener = listener;
    await this.#listen();
  }

  async #listen(): Promise<void> {
    if (this.#isClosed) return;
    // A failure ends its own connection: it may come when another one has taken its place.
    let client: PostgresClient | undefined;
    try {
      const made = await this.#connections.dedicated();
      // What was closed meanwhile has not released it.
      if (this.#isClosed) {
        made.release(true);
        return;
      }
      const again = (): void => this.#broke(made);
      made.on("error", again);
      made.on("end", again);
      made.on("notification", ({ payload = "" }) => this.#read(payload));
      client = this.#client = made;
      await answered(made.query({ text: `LISTEN ${pg.escapeIdentifier(this.#names.channel)}` }));
      if (this.#client !== made) return;
      this.#listener?.missed();
      await this.#sendProbe();
    } catch {
      this.#broke(client);
    }
  }

  /**
   * Asks for a sign of life: a connection whose other end is gone without a word would stay open for hours, and no notice would
   * arrive. Nor would one where the server is not the primary any more.
   */
  async check(): Promise<void> {
    const client = this.#client;
    if (client === undefined || !this.#hears) return;
    try {
      const { rows } = await answered(client.query({ text: WHERE, types: RESULT_TYPES }));
      const [row] = rows as readonly { readonly server: number }[];
      if (row !== undefined && this.#connections.server.isOther(row.server)) this.#broke(client);
    } catch {
      this.#broke(client);
    }
  }

  /** Something was stored for these destinations, or is due again. */
  tellStirred(destinations: readonly string[]): void {
    this.tell({ stirred: destinations.map((one) => [sourceOf(one), one]) });
  }

  tellStored(due: readonly DueDelivery[]): void {
    if (!this.#membership.hasOthers) return;
    this.tell({ events: due.map(({ delivery }): RemoteEvent => ({ kind: "accepted", delivery })) });
  }

  tellSettled(delivery: DeliveryInfo, settlement: Settlement): void {
    if (!this.#membership.hasOthers) return;
    const events: readonly RemoteEvent[] = [
      { kind: "settled", delivery, settlement: withoutBodies(settlement) },
    ];
    this.tell({ events, ended: settlement.state === "pending" ? [] : [delivery.id] });
  }

  tell(news: News): void {
    // Before the first heartbeat it is not known who else is there.
    const isForAll = news.list !== undefined || news.settings !== undefined;
    if (!isForAll && (this.#isClosed || !this.#membership.hasOthers)) return;
    this.#gathered.add(news);
    if (!this.#isSending) void this.#send();
  }

  close(): void {
    this.#isClosed = true;
    clearTimeout(this.#timer);
    this.#client?.release(true);
    this.#client = undefined;
  }

  /** Sends what has gathered, one notice after another. */
  async #send(): Promise<void> {
    this.#isSending = true;
    await new Promise((resolve) => setImmediate(resolve));
    try {
      while (!this.#gathered.isEmpty) {
        const bytes = MAX_BYTES - Buffer.byteLength(JSON.stringify({ from: this.#from }));
        await this.#notify({ from: this.#from, ...this.#gathered.take(bytes) });
      }
    } catch {
      // No process was notified: they find out by asking.
    }
    this.#isSending = false;
  }

  async #notify(notice: Notice): Promise<void> {
    const whole = JSON.stringify(notice);
    const { from, list, settings } = notice;
    const payload =
      Buffer.byteLength(whole) <= MAX_BYTES ? whole : JSON.stringify({ from, list, settings, missed: true });
    const send = (): Promise<unknown> =>
      this.#connections.query("control", NOTIFY, [this.#names.channel, payload]);
    await send().catch((error: unknown) => {
      if (!isUnknown(error)) throw error;
      // Its connection may have ended while it was unused. To be told twice does no harm.
      return send();
    });
  }

  async #sendProbe(): Promise<void> {
    const probe = `${this.#from} ${performance.now()}`;
    this.#probe = probe;
    this.#timer = setTimeout(() => {
      this.#hears = this.#probe !== probe;
      this.#isDeaf = !this.#hears;
    }, PROBE_MS);
    await this.#notify({ from: this.#from, probe });
  }

  /** Anybody who may connect to the database may notify: what is no notice of a store is as good as none. */
  #read(payload: string): void {
    try {
      const notice = JSON.parse(payload) as Notice | null;
      if (notice?.from === this.#from) this.#readOwn(notice);
      else if (typeof notice?.from === "string") this.#listener?.told(notice);
    } catch {
      this.#listener?.missed();
    }
  }

  #readOwn({ probe }: Notice): void {
    if (probe === undefined || probe !== this.#probe) return;
    this.#probe = undefined;
    this.#hears = true;
    this.#isDeaf = false;
  }

  #broke(client: PostgresClient | undefined): void {
    if (this.#client !== client || this.#isClosed) return;
    this.#client = undefined;
    this.#hears = false;
    client?.release(true);
    clearTimeout(this.#timer);
    this.#timer = setTimeout(() => void this.#listen(), RETRY_MS);
  }
}

const WHERE = `SELECT ${SERVER_START} AS server`;

/** A notice need not be on the disk to be sent. */
const NOTIFY = keptStatement(
  "notify",
  "WITH fast AS (SELECT set_config('synchronous_commit', 'off', true)) SELECT pg_notify($1, $2) FROM fast",
);

/** For people who watch from another process: they see the rest when they open the delivery. */
function withoutBodies(settlement: Settlement): Settlement {
  const attempts = settlement.attempts.map(({ requestHeaders: _, responseHeaders: __, ...attempt }) => ({
    ...attempt,
    response: "",
  }));
  return { ...settlement, attempts };
}
