import { messageOf } from "@countersign/protocol";
import type { Sender } from "@countersign/sender";
import { onceAtATime } from "./once-at-a-time.ts";
import type { StoreRoom, StoreStateJson } from "./store-room.ts";
import {
  destinationsWithoutSettings,
  withoutSettingsLine,
  type DestinationStats,
} from "../settings/find-settings.ts";

/** Each status that there is. */
export const READINESS_STATUSES = ["ok", "degraded", "full", "down", "unsafe"] as const;

/** Whether a server can take calls, and what its operator should know. */
export interface Readiness {
  /**
   * `degraded`: calls are stored, and the operator has something to do. `full`: the store has no room for calls. `down`: it
   * does not answer, or cannot write, as on a disk that is full: then nothing is delivered either. `unsafe`: it would not keep what it is given.
   */
  readonly status: (typeof READINESS_STATUSES)[number];
  readonly problems?: readonly string[];
  readonly store: StoreStateJson;
  /** Whether this server delivers the calls that it accepts. */
  readonly delivers: boolean;
}

/** What is looked at. */
export interface ReadinessParts {
  /** Finds the destinations that have deliveries waiting, and no settings to send them by. */
  readonly waiting: () => Promise<readonly DestinationStats[]>;
  readonly room: Pick<StoreRoom, "state">;
  readonly delivers: boolean;
}

/** Whether calls can be stored. */
export function isReady(status: Readiness["status"]): boolean {
  return status === "ok" || status === "degraded";
}

/** Looks at the store, and at what waits in it. Never rejects. */
export async function readiness({ waiting: find, room, delivers }: ReadinessParts): Promise<Readiness> {
  const store = room.state();
  const { state, reason } = store;
  let waiting: readonly string[] = [];
  try {
    // A store that is down would only let the question wait.
    if (state !== "down") waiting = (await find()).map(waitingText);
  } catch (error) {
    // Calls can be stored nevertheless, as where a database has no connection left to read over.
    waiting = [messageOf(error)];
  }
  if (state !== "up")
    return { status: state, problems: [reason ?? `The store is ${state}.`, ...waiting], store, delivers };
  // A store that can be used gives a reason if its operator has something to do, as when no process delivers from it.
  const problems = reason === undefined ? waiting : [reason, ...waiting];
  return problems.length > 0
    ? { status: "degraded", problems, store, delivers }
    : { status: "ok", store, delivers };
}

/** The answer of a store is used for this long, in milliseconds. */
const ANSWER_KEPT_MS = 1_000;

/**
 * Finds the destinations that have deliveries waiting, and no settings to send them by. It asks the store once in a second at most,
 * and again when the settings have changed: anyone may ask for `/readyz`, and with 2,000 sources an answer takes some milliseconds. What
 * fails is not kept.
 */
export function waitingWithoutSettings(
  sender: Pick<Sender, "settings" | "stats">,
): ReadinessParts["waiting"] {
  let kept: (Asked & { readonly found: readonly DestinationStats[] }) | undefined;
  const ask = onceAtATime(async () => {
    const asked: Asked = { settings: sender.settings, at: performance.now() };
    const found = await destinationsWithoutSettings(sender);
    kept = { ...asked, found };
    return found;
  });
  return async () => {
    const isFresh = kept?.settings === sender.settings && performance.now() - kept.at < ANSWER_KEPT_MS;
    return kept !== undefined && isFresh ? kept.found : ask();
  };
}

/** When a store was asked, and with which settings. */
interface Asked {
  readonly settings: Sender["settings"];
  readonly at: number;
}

function waitingText(destination: DestinationStats): string {
  return `${withoutSettingsLine(destination)}. Add it with PUT /api/sources/NAME/destinations/NAME, or in the config file.`;
}
