import type { Sender } from "@countersign/sender";
import type { StoreRoom, StoreStateJson } from "../live/store-room.ts";
import { destinationsWithoutSettings, withoutSettingsLine } from "../settings/find-settings.ts";

/** Whether a server can take calls, and what its operator should know. */
export interface Readiness {
  /** Whether calls can be stored. */
  readonly ready: boolean;
  /**
   * `degraded`: calls are stored, and the operator has something to do. `full`: the store has no room for calls. `down`: it
   * does not answer. `unsafe`: it would not keep what it is given.
   */
  readonly status: "ok" | "degraded" | Exclude<StoreStateJson["state"], "up">;
  readonly problems?: readonly string[];
  readonly store: StoreStateJson;
  /** Whether this server delivers the calls that it accepts. */
  readonly delivers: boolean;
}

/** What is looked at. */
export interface ReadinessParts {
  readonly sender: Sender;
  readonly room: StoreRoom;
  readonly delivers: boolean;
}

/** Looks at the store, and at what waits in it. */
export async function readiness({ sender, room, delivers }: ReadinessParts): Promise<Readiness> {
  const store = room.state();
  const about = { store, delivers };
  // A store that is down would only let the question wait.
  if (store.state === "down") return { ready: false, status: "down", ...problems(store), ...about };
  const waiting = (await destinationsWithoutSettings(sender)).map(
    (destination) =>
      `${withoutSettingsLine(destination)}. Add it with PUT /api/sources/NAME/destinations/NAME, or in the config file.`,
  );
  if (store.state !== "up")
    return { ready: false, status: store.state, ...problems(store, waiting), ...about };
  // A store that can be used gives a reason if its operator has something to do, as when no process delivers from it.
  const toDo = store.reason === undefined ? waiting : [store.reason, ...waiting];
  if (toDo.length > 0) return { ready: true, status: "degraded", problems: toDo, ...about };
  return { ready: true, status: "ok", ...about };
}

function problems(
  { state, reason = `The store is ${state}.` }: StoreStateJson,
  others: readonly string[] = [],
): Pick<Readiness, "problems"> {
  return { problems: [reason, ...others] };
}
