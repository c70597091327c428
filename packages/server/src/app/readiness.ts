import type { Sender } from "@countersign/sender";
import { destinationsWithoutSettings, withoutSettingsLine } from "../settings/settings-edit.ts";

/** Whether a server can take calls, and what its operator should know. */
export interface Readiness {
  /** Whether calls can be stored. */
  readonly ready: boolean;
  /** `degraded`: calls are stored, and something waits for the operator. */
  readonly status: "ok" | "degraded";
  readonly problems?: readonly string[];
}

/** Looks at the store, and at what waits in it. Rejects if the store does not answer. */
export async function readiness(sender: Sender): Promise<Readiness> {
  const problems = (await destinationsWithoutSettings(sender)).map(
    (destination) =>
      `${withoutSettingsLine(destination)}. Add it with PUT /api/sources/NAME/destinations/NAME, or in the config file.`,
  );
  return problems.length === 0
    ? { ready: true, status: "ok" }
    : { ready: true, status: "degraded", problems };
}
