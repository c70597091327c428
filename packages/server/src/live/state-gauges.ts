import type { Sender, SenderStats, StoreSpace } from "@countersign/sender";
import { END_STATES } from "@countersign/sender/store";
import { Gauge, type Registry } from "prom-client";
import { destinationsByKey, destinationsWithoutSettings } from "../settings/find-settings.ts";
import type { ForgeryList } from "./forgery-list.ts";
import { READINESS_STATUSES, readiness } from "./readiness.ts";
import type { StoreRoom } from "./store-room.ts";

/** What the gauges are read from. */
export interface StateParts {
  readonly sender: Sender;
  readonly room: StoreRoom;
  /** Which endpoints accept forgeries; a process that only delivers keeps no such list. */
  readonly forgeries?: Pick<ForgeryList, "list">;
  /** Whether this process delivers. */
  readonly delivers: boolean;
  /** The time, in milliseconds since 1970. */
  readonly now: () => number;
}

/** Asks the store for the counts. */
type ReadStats = () => Promise<SenderStats>;

type StateGauge = Gauge<"destination" | "state">;

/** Adds the gauges of the present state, each read when it is asked for. */
export function addStateGauges(parts: StateParts, read: ReadStats, registers: Registry[]): void {
  watchDeliveries(parts, read, registers);
  watchSettings(parts.sender, registers);
  watchStore(parts, read, registers);
  if (parts.forgeries) watchForgeries(parts.sender, parts.forgeries, registers);
}

/** What waits, what the store keeps, and what fails. */
function watchDeliveries({ sender, now }: StateParts, read: ReadStats, registers: Registry[]): void {
  const gauge = (
    name: string,
    help: string,
    set: (gauge: StateGauge, stats: SenderStats) => void,
  ): StateGauge =>
    new Gauge({
      name: `countersign_${name}`,
      help,
      labelNames: ["destination", "state"],
      registers,
      async collect() {
        this.reset();
        // Without an answer of the store there is nothing to tell but that it is down.
        const stats = await read().catch(() => undefined);
        if (stats) set(this, stats);
      },
    });
  gauge("deliveries_pending", "Deliveries that wait for their next try.", (pending, { destinations }) => {
    for (const { destination, pending: count } of destinations) pending.set({ destination }, count);
  });
  gauge(
    "oldest_pending_seconds",
    "Age of the oldest delivery that waits; 0 when none does.",
    (age, stats) => {
      for (const { destination, oldestPendingAt } of stats.destinations) {
        age.set(
          { destination },
          oldestPendingAt === undefined ? 0 : Math.max(now() - oldestPendingAt, 0) / 1_000,
        );
      }
    },
  );
  // The counters of attempts and ends are of one process. This is the store's own count, whichever process delivers.
  gauge("deliveries_kept", "Ended deliveries that the store keeps, by state.", (kept, { destinations }) => {
    for (const { destination, ...counts } of destinations) {
      for (const state of END_STATES) kept.set({ destination, state }, counts[state]);
    }
  });
  gauge(
    "failure_streak",
    "Attempts that failed in a row, of the endpoint of the destination that fails least.",
    (streak, { endpoints }) => {
      const least = new Map<string, number>();
      const known = destinationsByKey(sender.settings);
      for (const { destination, url, failures } of endpoints) {
        // The counts of an endpoint remain when its destination has another one, or has gone.
        const settings = known.get(destination);
        if (!settings?.endpoints.some((endpoint) => endpoint.url === url)) continue;
        least.set(destination, Math.min(least.get(destination) ?? failures, failures));
      }
      for (const [destination, failures] of least) streak.set({ destination }, failures);
    },
  );
}

/** Which destinations take calls. */
function watchSettings(sender: Sender, registers: Registry[]): void {
  const enabled = new Gauge({
    name: "countersign_destination_enabled",
    help: "1 when the destination is enabled; while it is 0, its deliveries wait, and no call is kept for it.",
    labelNames: ["destination"],
    registers,
    collect() {
      enabled.reset();
      for (const [destination, settings] of destinationsByKey(sender.settings))
        enabled.set({ destination }, settings.enabled === false ? 0 : 1);
    },
  });
}

/** The store, and what `/readyz` says. */
function watchStore({ sender, room, delivers }: StateParts, read: ReadStats, registers: Registry[]): void {
  const up = new Gauge({
    name: "countersign_store_up",
    help: "1 when calls can be stored, 0 when the store is down, unsafe or full.",
    registers,
    collect() {
      this.set(room.state().state === "up" ? 1 : 0);
    },
  });
  up.set(1);
  const statuses = new Gauge({
    name: "countersign_status",
    help: "1 for the status that /readyz has, 0 for the others.",
    labelNames: ["status"],
    registers,
    async collect() {
      const known = { settings: sender.settings, stats: read };
      const waiting = () => destinationsWithoutSettings(known);
      const { status } = await readiness({ waiting, room, delivers });
      for (const each of READINESS_STATUSES) this.set({ status: each }, each === status ? 1 : 0);
    },
  });
  for (const status of READINESS_STATUSES) statuses.set({ status }, 0);
  const space = (name: string, help: string, of: (space: StoreSpace) => number): Gauge =>
    new Gauge({
      name: `countersign_store_${name}_bytes`,
      help,
      registers,
      async collect() {
        // A store without a limit is not one with room for 0 bytes.
        this.remove({});
        const stats = await read().catch(() => undefined);
        if (stats?.space) this.set(of(stats.space));
      },
    });
  space(
    "used",
    "What the store takes of its limit, ended deliveries included.",
    ({ usedBytes }) => usedBytes,
  );
  space("limit", "The most that the store may take.", ({ limitBytes }) => limitBytes);
}

/** Which endpoints accept forgeries. */
function watchForgeries(sender: Sender, forgeries: Pick<ForgeryList, "list">, registers: Registry[]): void {
  const accepted = new Gauge({
    name: "countersign_accepted_forgeries",
    help: "Kinds of forged messages that an endpoint accepted, and was not seen to refuse since.",
    labelNames: ["destination"],
    registers,
    collect() {
      accepted.reset();
      for (const destination of destinationsByKey(sender.settings).keys()) accepted.set({ destination }, 0);
      for (const { destination } of forgeries.list()) accepted.inc({ destination });
    },
  });
}
