import { route } from "../route/route.ts";
import { FAILING_AFTER } from "@countersign/sender/explain";
import { nameOf, shortUrl } from "../words/format.ts";
import { stateVerdict, type Facts, type Verdict } from "../words/words.ts";
import { announce, news } from "./announce.ts";
import { call, get } from "./api.ts";
import { DeliveryList } from "./delivery-list.ts";
import { readFilter } from "./filter.ts";
import { computed, signal, watch } from "../signals/signals.ts";
import { openStream } from "./stream.ts";
import { inTurn, withPauses } from "../signals/with-pauses.ts";
import type { Source } from "../shapes/settings.ts";
import type { Stats } from "../shapes/stats.ts";
import type { Clock, Fault, LiveEvent, State, Status } from "../shapes/types.ts";

export const list = new DeliveryList();
/** What the server has told of itself; until then, what holds for most. */
export const status = signal<Status>({
  delivers: true,
  kept: "disk",
  store: { state: "up" },
  budgetMs: 5_000,
  retryWindowMs: 14_400_000,
  faults: [],
});
export const clock = signal<Clock | undefined>(undefined);
export const faults = signal<readonly Fault[] | undefined>(undefined);
export const sources = signal<readonly Source[]>([]);
export const stats = signal<Stats | undefined>(undefined);
/** The version of the settings that {@link sources} are. */
export const etag = signal<string | undefined>(undefined);
/** Every endpoint of the settings, with its destination's full name. */
export const endpoints = computed(() =>
  sources.value.flatMap((source) =>
    source.destinations.flatMap((destination) =>
      destination.endpoints.map(({ url }) => ({
        url,
        destination: `${source.name}/${destination.name}`,
        enabled: destination.enabled,
        signed: destination.signed,
      })),
    ),
  ),
);

/** The settings of each destination, by its full name. */
const settings = computed(() => new Map(endpoints.value.map((one) => [one.destination, one])));

/** The full names of the destinations of the settings. */
export const destinations = computed(() => [...settings.value.keys()]);

/** The endpoints of the settings that have failed many times in a row. The server tells when that begins and when it ends. */
export const failing = computed(() => {
  const enabled = new Set(endpoints.value.filter((one) => one.enabled).map(nameOf));
  return (stats.value?.endpoints ?? []).filter(
    (one) => (one.failures ?? 0) >= FAILING_AFTER && enabled.has(nameOf(one)),
  );
});

type Listener = (event: LiveEvent) => void;
const listeners = new Set<Listener>();

/** Tells a screen of every event until the function that it returns is called. */
export function onEvent(listener: Listener): () => void {
  listeners.add(listener);
  return () => void listeners.delete(listener);
}

/** What the difference between the server's clock and this machine's is, in milliseconds. */
let offsetMs = 0;
let virtualNow: number | undefined;

/** The server's time, in milliseconds since 1970. */
export function serverNow(): number {
  return virtualNow ?? Date.now() + offsetMs;
}

function setClock(next: Clock): void {
  const now = Date.parse(next.now);
  virtualNow = next.kind === "virtual" ? now : undefined;
  offsetMs = now - Date.now();
  clock.value = next;
}

export async function loadSources(): Promise<void> {
  const answer = await call<readonly Source[]>("GET", "/sources");
  sources.value = answer.data;
  etag.value = answer.etag;
}

export const loadFaults = async (): Promise<void> =>
  void (faults.value = await get<readonly Fault[]>("/faults"));
export const loadStats = async (): Promise<void> => void (stats.value = await get<Stats>("/stats"));
const loadStatus = async (): Promise<void> => void (status.value = await get<Status>("/status"));
export const loadClock = async (): Promise<void> => setClock(await get<Clock>("/clock"));

/** Reads everything that the header and the forms stand on. What cannot be read stays as it was: the stream tells of it. */
async function loadAll(): Promise<void> {
  await Promise.allSettled([loadStatus(), loadSources(), loadFaults(), loadClock(), loadStats()]);
}

/** The settings of a destination; one that has gone is taken for one that had a shared secret. */
export function settingsOf(destination: string): { readonly signed: boolean; readonly enabled?: boolean } {
  return settings.value.get(destination) ?? { signed: true };
}

interface Standing {
  readonly state: State;
  readonly last?: Facts | undefined;
  readonly destination: string;
}

/** Whether a delivery is tried when its time comes: what waits for a destination that is disabled, or has gone, is not. */
export function isTried({ state, destination }: Standing): boolean {
  return state === "pending" && settingsOf(destination).enabled === true;
}

/** The word for where a delivery stands. */
export function verdictOf(delivery: Standing): Verdict {
  const { state, last, destination } = delivery;
  return stateVerdict(state, last, settingsOf(destination).signed, isTried(delivery));
}

/** Whether the stream begins with it, for the first time or again: what could not be read meanwhile can be read. */
export function begins({ event }: LiveEvent): boolean {
  return event === "hello" || event === "reset";
}

/** What a screen reader is told of. */
const NEWS: ReadonlySet<string> = new Set(["accepted", "failed", "expired"]);

/** Thousands of events can come at once, each about another source. */
const AGAIN_MS = 100;
const readStats = inTurn(loadStats, AGAIN_MS);
const readSettings = inTurn(() => Promise.all([loadSources(), loadStats()]), AGAIN_MS);

/** What is read again after an event. */
const AFTER: Partial<Record<LiveEvent["event"], () => unknown>> = {
  settings: readSettings,
  fault: loadFaults,
  clock: loadClock,
  advancing: loadClock,
  failing: readStats,
  recovered: readStats,
  forgery: readStats,
  cleared: () => list.load(list.filter),
};

function receive(events: readonly LiveEvent[]): void {
  let isNews = false;
  for (const event of events) {
    if (begins(event)) {
      // With `hello`, the stream goes on where it ended. What came before it was open is in the list alone.
      if (event.event === "reset" || !isFollowed || list.state.value.kind === "failed") void begin();
      isFollowed = true;
    } else if (NEWS.has(event.event)) isNews = true;
    else if (event.event === "store") status.value = { ...status.value, store: event };
    else void AFTER[event.event]?.();
    if (event.event === "recovered") announce(`${shortUrl(event.endpoint)} answers again.`);
    for (const listener of listeners) listener(event);
  }
  list.receive(events);
  if (isNews) tellNews();
}

/** News are told at most this often, so that they do not talk over the reader. */
const NEWS_EVERY_MS = 5_000;
/** News wait so long for others to come, and for the list to be drawn with them. */
const SETTLE_MS = 250;

/** Tells a screen reader the latest, which nobody asked for. */
const tellNews = withPauses(() => {
  const waiting = list.waiting.value;
  const total = list.total.value ?? list.rows.length;
  news.value = `${total} deliveries${waiting > 0 ? `, ${waiting} new` : ""}.`;
  return NEWS_EVERY_MS;
}, SETTLE_MS);

/** Whether the list was read, and whether it was read since the stream is open. */
let [isRead, isFollowed] = [false, false];

/** Reads the list; where it was read before, as far as it was read. */
async function begin(): Promise<void> {
  const loaded = isRead ? list.rows.loaded : undefined;
  isRead = true;
  await Promise.all([list.load(readFilter(route.value.parameters), loaded), loadAll()]);
}

const COUNT_EVERY_MS = 60_000;
/**
 * So often the time is asked, so that a server that hangs is noticed, and that code in its process has advanced a virtual clock; what
 * waits for an endpoint that fails grows meanwhile.
 */
const ASK_EVERY_MS = 10_000;

/** Connects the page: the stream, and the list that follows the URL. */
export function start(): void {
  const check = openStream(receive);
  // The stream tells when to begin, and this whether a token is needed. Where it cannot be opened, the list is shown all the same.
  void Promise.allSettled([loadStatus(), loadClock()]);
  setTimeout(() => void (isRead || begin()), 1_000);
  watch(route, () => {
    const { screen, parameters } = route.value;
    const filter = readFilter(parameters);
    if (screen !== "deliveries" || !isRead || JSON.stringify(filter) === JSON.stringify(list.filter)) return;
    void list.load(filter);
  });
  setInterval(() => void list.count(true).then(check), COUNT_EVERY_MS);
  setInterval(() => {
    loadClock().catch(() => {});
    if (failing.value.length > 0) readStats();
  }, ASK_EVERY_MS);
}
