import { messageOf } from "@countersign/protocol";
import type { Sender } from "@countersign/sender";
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
   * does not answer. `unsafe`: it would not keep what it is given.
   */
  readonly status: (typeof READINESS_STATUSES)[number];
  readonly problems?: readonly string[];
  readonly store: StoreStateJson;
  /** Whether this server delivers the calls that it accepts. */
  readonly delivers: boolean;
}

/** What is looked at. */
export interface ReadinessParts {
  readonly sender: Pick<Sender, "settings" | "stats">;
  readonly room: StoreRoom;
  readonly delivers: boolean;
}

/** Whether calls can be stored. */
export function isReady(status: Readiness["status"]): boolean {
  return status === "ok" || status === "degraded";
}

/** Looks at the store, and at what waits in it. Never rejects. */
export async function readiness({ sender, room, delivers }: ReadinessParts): Promise<Readiness> {
  const store = room.state();
  const { state, reason } = store;
  let waiting: readonly string[] = [];
  try {
    // A store that is down would only let the question wait.
    if (state !== "down") waiting = (await destinationsWithoutSettings(sender)).map(waitingText);
  } catch (error) {
    const problem = messageOf(error);
    return { status: "down", problems: [problem], store: { state: "down", reason: problem }, delivers };
  }
  if (state !== "up")
    return { status: state, problems: [reason ?? `The store is ${state}.`, ...waiting], store, delivers };
  // A store that can be used gives a reason if its operator has something to do, as when no process delivers from it.
  const problems = reason === undefined ? waiting : [reason, ...waiting];
  return problems.length > 0
    ? { status: "degraded", problems, store, delivers }
    : { status: "ok", store, delivers };
}

function waitingText(destination: DestinationStats): string {
  return `${withoutSettingsLine(destination)}. Add it with PUT /api/sources/NAME/destinations/NAME, or in the config file.`;
}
