import {
  createSender,
  type DeliveryState,
  type JudgedCall,
  type Sender,
  type SenderSettings,
} from "@countersign/sender";
import type { DeliveryStore } from "@countersign/sender/store";
import { type VirtualClock, virtualClock } from "@countersign/sender/testing";
import { DAY_MS, endpointsAt, HOUR_MS, settingsOf } from "./life.ts";

/** What a year is run on, and how much of it. */
export interface YearOptions {
  /** Opens the store: a new one, on the same data, after each restart. */
  readonly store: () => DeliveryStore;
  readonly days: number;
  /** When it begins, at 23:00: what is tried again is tried after midnight. Default: in September of 2027, before a leap day. */
  readonly from?: string;
  /** How many days a month has. Default: 30. */
  readonly monthOf?: number;
  /** Restarts after so many days. Default: never. */
  readonly restartEvery?: number;
  /** Looks at what is stored: numbers by name, such as rows by table. */
  readonly measure?: () => Promise<Readonly<Record<string, number>>>;
}

/** What a month ended with. */
export interface Month {
  /** What does not agree, or was told to be lost. */
  readonly problems: readonly string[];
  readonly accepted: number;
  readonly pending: number;
  /** Tasks of the clock. */
  readonly scheduled: number;
  readonly measured: Readonly<Record<string, number>>;
}

const ENDED = ["delivered", "failed", "expired"] as const;
const STATES = ["pending", ...ENDED] as const;
const CALLS_AT_ONCE = 10;

type Counts = Readonly<Record<DeliveryState, number>>;

/** What a store says of itself at one moment. */
interface Readings {
  readonly sums: Counts;
  readonly found: Counts;
  readonly listed: number;
  /** Ids of deliveries whose body has gone before them. */
  readonly withoutBody: readonly string[];
}

async function byState(count: (state: DeliveryState) => Promise<number>): Promise<Counts> {
  const [pending, delivered, failed, expired] = await Promise.all(STATES.map(count));
  return { pending: pending ?? 0, delivered: delivered ?? 0, failed: failed ?? 0, expired: expired ?? 0 };
}

/** A sender that lives for a year, restarts included, and what it was seen to do. */
class Life {
  readonly clock: VirtualClock;
  readonly counts = { accepted: 0, delivered: 0, failed: 0, expired: 0 };
  readonly problems: string[] = [];
  readonly #store: () => DeliveryStore;
  #settings: SenderSettings = settingsOf(0);
  #sender: Sender | undefined;

  constructor(store: () => DeliveryStore, from: string) {
    this.#store = store;
    this.clock = virtualClock(from);
  }

  get sender(): Sender {
    if (this.#sender === undefined) throw new Error("It has not begun.");
    return this.#sender;
  }

  get sources(): readonly string[] {
    return this.#settings.sources.map(({ name }) => name);
  }

  async restart(): Promise<void> {
    await this.#sender?.close();
    const { clock } = this;
    const [transport, seed, store] = [endpointsAt(clock), String(clock.now()), this.#store()];
    // Without jitter, retries fall on the same moments: each moment waits for its commit.
    const retry = { minJitter: 1 };
    const { sources } = this.#settings;
    const sender = await createSender({ sources, store, clock, transport, seed, retry });
    sender.on("accepted", () => void (this.counts.accepted += 1));
    for (const state of ENDED) sender.on(state, () => void (this.counts[state] += 1));
    sender.on("storeError", ({ error }) => void this.problems.push(`the store: ${String(error)}`));
    sender.on("lost", ({ delivery }) => void this.problems.push(`lost: ${delivery.id}`));
    this.#sender = sender;
  }

  async follow(day: number): Promise<void> {
    const next = settingsOf(day);
    if (JSON.stringify(next) === JSON.stringify(this.#settings)) return;
    this.#settings = next;
    await this.sender.update(next);
  }

  /** Does what people do on some days. */
  async recover(day: number): Promise<void> {
    const { sender, clock } = this;
    const since = clock.now() - 5 * DAY_MS;
    if (day % 7 === 3) await sender.resend({ filter: { state: "failed", destination: "shop/mail" } });
    if (day % 7 === 4) await sender.resend({ filter: { state: "expired", destination: "shop/ads", since } });
    if (day % 7 === 5) await sender.retry({ filter: {}, limit: 50 });
    if (day % 30 === 11) await sender.clear({ state: "failed", destination: "app/gone" });
  }

  /** Everything that was accepted is somewhere, and whatever counts agrees. */
  async account(usage: ReadonlyMap<string, number>): Promise<number> {
    const { sender, counts } = this;
    // Everything of this moment has been tried.
    await this.clock.advance(1);
    const differs = (what: string, one: number, other: number): void => {
      if (one !== other) this.problems.push(`${what}: ${one} is not ${other}`);
    };
    const { sums, found, listed, withoutBody } = await this.#read();
    const ended = counts.delivered + counts.failed + counts.expired;
    differs("accepted", counts.accepted, ended + sums.pending);
    for (const state of STATES) differs(state, found[state], sums[state]);
    differs("listed", listed, found.pending + found.delivered + found.failed + found.expired);
    for (const id of withoutBody) this.problems.push(`${id} has no body`);
    const stats = await sender.stats();
    for (const one of stats.sources) differs(`usage of ${one.source}`, one.usage, usage.get(one.source) ?? 0);
    differs("minutes", stats.minutes.length, 60);
    return sums.pending;
  }

  /** What the store counts, and what it finds: read again if something was removed between, which is too old. */
  async #read(): Promise<Readings> {
    for (let sums = await this.#sums(); ;) {
      const found = await byState((state) => this.sender.count({ state }));
      const listed = await this.#listed();
      const again = await this.#sums();
      if (STATES.every((state) => sums[state] === again[state])) return { sums, found, ...listed };
      sums = again;
    }
  }

  /** What the destinations have by state, as the store has counted it. */
  async #sums(): Promise<Counts> {
    const { destinations } = await this.sender.stats();
    return byState(async (state) => destinations.reduce((total, one) => total + one[state], 0));
  }

  /** How many deliveries a reader finds who reads page by page. The oldest still has its body. */
  async #listed(): Promise<Pick<Readings, "listed" | "withoutBody">> {
    let [listed, last] = [0, ""];
    for (let after: string | undefined, isFirst = true; isFirst || after !== undefined; isFirst = false) {
      const page = await this.sender.summaries({ limit: 500, after });
      listed += page.deliveries.length;
      last = page.deliveries.at(-1)?.id ?? last;
      after = page.next;
    }
    const oldest = await this.sender.delivery(last);
    return { listed, withoutBody: (oldest?.body ?? "").length === 0 ? [last] : [] };
  }
}

/** Calls of a day, some of them repeats of others, of the same day or of days before. */
class Calls {
  readonly #sent: { readonly key: string; readonly source: string; at: number }[] = [];
  readonly #problems: string[];
  /** Calls that add to the usage, by source. */
  readonly usage = new Map<string, number>();
  #random = 7;
  #made = 0;

  constructor(problems: string[]) {
    this.#problems = problems;
  }

  /** A number from 0 to 1, the same in each run. */
  random(): number {
    this.#random = (Math.imul(this.#random, 1_664_525) + 1_013_904_223) >>> 0;
    return this.#random / 2 ** 32;
  }

  async send(sender: Sender, source: string, now: number): Promise<void> {
    const calls: JudgedCall[] = [];
    const repeats: boolean[] = [];
    for (let call = 0; call < CALLS_AT_ONCE; call += 1) {
      const again =
        this.random() < 0.05 ? this.#sent[Math.floor(this.random() * this.#sent.length)] : undefined;
      if (
        again?.source === source &&
        now - again.at !== DAY_MS &&
        calls.every(({ key }) => key !== again.key)
      ) {
        repeats.push(again.at > now - DAY_MS);
        if (again.at < now - DAY_MS) again.at = now;
        calls.push(callOf(again.key, "Again", now));
        continue;
      }
      this.#made += 1;
      const key = `m-${this.#made}`;
      repeats.push(false);
      this.#sent.push({ key, source, at: now });
      calls.push(callOf(key, this.random() < 0.05 ? "Heartbeat" : `Event ${this.#made % 40}`, now));
    }
    const receipts = await sender.accept(calls, { source, uniqueFor: "24h" });
    const counted = calls.filter(
      ({ event }, position) => repeats[position] === false && !(source === "shop" && event === "Heartbeat"),
    );
    this.usage.set(source, (this.usage.get(source) ?? 0) + counted.length);
    for (const [position, { repeat = false }] of receipts.entries()) {
      if (repeat !== repeats[position]) this.#problems.push(`repeat of ${calls[position]?.key}: ${repeat}`);
    }
    if (this.#sent.length > 2_000) this.#sent.splice(0, 500);
  }
}

function callOf(key: string, event: string, now: number): JudgedCall {
  const timestamp = new Date(now).toISOString();
  const properties = { total: 12, text: "x".repeat(200) };
  return { type: "track", messageId: key, key, timestamp, userId: `u-${key.length}`, event, properties };
}

/** Runs a sender for days; says what each month ended with. */
export async function runYear(options: YearOptions): Promise<readonly Month[]> {
  const { days, from = "2027-09-19T23:00:00Z", monthOf = 30 } = options;
  const { restartEvery = Number.POSITIVE_INFINITY, measure } = options;
  const life = new Life(options.store, from);
  const { clock, problems } = life;
  const calls = new Calls(problems);
  const members = new Set<string>();
  const months: Month[] = [];
  await life.restart();
  for (let day = 0; day < days; day += 1) {
    await life.follow(day);
    for (let third = 0; third < 3; third += 1) {
      for (const source of life.sources) await calls.send(life.sender, source, clock.now());
      await clock.advance(8 * HOUR_MS);
    }
    for (let change = 0; change < 5; change += 1) {
      members.add(`u-${Math.floor(calls.random() * 200)}`);
      members.delete(`u-${Math.floor(calls.random() * 200)}`);
    }
    await life.sender.syncAudience("Big Spenders", members, { source: "shop" });
    if (day % 4 === 1) await life.sender.deleteUser([...members][0] ?? "u-0");
    await life.recover(day);
    if (day % restartEvery === restartEvery - 1) await life.restart();
    if (day % monthOf !== monthOf - 1) continue;
    const pending = await life.account(calls.usage);
    months.push({
      problems: problems.splice(0),
      accepted: life.counts.accepted,
      pending,
      scheduled: clock.scheduled,
      measured: (await measure?.()) ?? {},
    });
  }
  await life.sender.close();
  return months;
}
