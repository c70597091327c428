import type { Sender } from "@countersign/sender";
import type { StoreRoom } from "../live/store-room.ts";
import { destinationsWithoutSettings, withoutSettingsLine } from "../settings/settings-edit.ts";

/** Whether a server can take calls, and what its operator should know. */
export interface Readiness {
  /** Whether calls can be stored. */
  readonly ready: boolean;
  /** `degraded`: calls are stored, and something waits for the operator. `full`: the store has no room for calls. */
  readonly status: "ok" | "degraded" | "full";
  readonly problems?: readonly string[];
}

/** Looks at the store, and at what waits in it. Rejects if the store does not answer. */
export async function readiness(sender: Sender, room: StoreRoom): Promise<Readiness> {
  const waiting = (await destinationsWithoutSettings(sender)).map(
    (destination) =>
      `${withoutSettingsLine(destination)}. Add it with PUT /api/sources/NAME/destinations/NAME, or in the config file.`,
  );
  const full = room.problem();
  if (full !== undefined) return { ready: false, status: "full", problems: [full, ...waiting] };
  if (waiting.length > 0) return { ready: true, status: "degraded", problems: waiting };
  return { ready: true, status: "ok" };
}
