import type { Clock, VirtualClock } from "@countersign/protocol";
import type { Sender } from "@countersign/sender";
import { ATTEMPT_TIMEOUT_MS } from "@countersign/sender/explain";
import type { FaultyTransport } from "@countersign/sender/faults";
import type { ApiContext, ServerInfo } from "../api/operation.ts";
import { Certifications } from "../jobs/certifications.ts";
import { ResendJobs } from "../jobs/resend-jobs.ts";
import type { Ledger } from "../ledger/ledger.ts";
import { ClockAdvances } from "../live/clock-advances.ts";
import { EventStreams } from "../live/event-stream.ts";
import { FaultList } from "../live/fault-list.ts";
import { tellFollowedSettings } from "../live/followed-settings.ts";
import { ForgeryList } from "../live/forgery-list.ts";
import { LiveEvents } from "../live/live-events.ts";
import { StoreRoom } from "../live/store-room.ts";
import { WarningList } from "../live/warning-list.ts";
import { version } from "../package-files.ts";
import type { SettingsBook } from "../settings/settings-book.ts";
import { SettingsVersions } from "../settings/settings-versions.ts";
import { iso } from "../shapes/times.ts";
import type { ServerOptions } from "./server-options.ts";

/** What a server has opened. */
export interface Opened {
  readonly sender: Sender;
  readonly transport: FaultyTransport;
  readonly ledger: Ledger;
  readonly book: SettingsBook;
}

/** Makes the parts that the routes work on, and has each of them tell what happens to it. */
export function createContext(
  options: ServerOptions,
  clock: Clock,
  { sender, transport, ledger, book }: Opened,
): ApiContext {
  const { onError = () => {} } = options;
  const now = (): number => clock.now();
  const versions = new SettingsVersions();
  const events = new LiveEvents(sender, { now, onError });
  tellFollowedSettings(sender, events, versions);
  const faults = new FaultList(transport, (change, fault) => events.tell({ event: "fault", change, fault }));
  sender.on("attempt", () => faults.lookForStrikes());
  const room = new StoreRoom(sender, (state) => {
    const event = { event: "store", ...state } as const;
    events.tell(event);
    // Its cause is the event: who shows events shows it once.
    if (state.reason !== undefined) onError(new Error(state.reason, { cause: event }));
  });
  const forgeries = new ForgeryList({
    sender,
    ledger,
    onChange: ({ destination, url, fault }, accepted) =>
      events.tell({ event: "forgery", destination, endpoint: url, fault, accepted }),
    onError,
  });
  const virtualClock = asVirtual(clock);
  const advances =
    virtualClock &&
    new ClockAdvances(virtualClock, (target) =>
      events.tell({ event: "advancing", now: iso(now()), advancingTo: iso(target) }),
    );
  return {
    sender,
    ledger,
    book,
    versions,
    faults,
    forgeries,
    warnings: new WarningList(),
    events,
    streams: new EventStreams(events.log, now),
    virtualClock,
    advances,
    room,
    certifications: new Certifications((event) => events.tell(event)),
    resends: new ResendJobs(sender, now, (job) => events.tell({ event: "resend", job })),
    info: infoOf(options, sender, now()),
    now,
  };
}

function infoOf(options: ServerOptions, sender: Sender, now: number): ServerInfo {
  const { data, store, deliver = true, record } = options;
  return {
    version,
    startedAt: iso(now),
    delivers: deliver,
    kept: store !== undefined ? "shared" : data === undefined ? "memory" : "disk",
    budgetMs: ATTEMPT_TIMEOUT_MS,
    get retryWindowMs() {
      return sender.retryPolicy.windowMs;
    },
    recording: record !== undefined,
    onlyDeliveriesConnect: onlyDeliveriesConnect(options),
  };
}

function onlyDeliveriesConnect({ blockPrivateNetworks, proxy }: ServerOptions): string | undefined {
  if (blockPrivateNetworks === true)
    return "With blockPrivateNetworks, only deliveries open connections, because they check every address.";
  return proxy && "With a proxy, only deliveries open connections, because they go through it.";
}

function asVirtual(clock: Clock): VirtualClock | undefined {
  return "advance" in clock ? (clock as VirtualClock) : undefined;
}
