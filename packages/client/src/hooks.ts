import { callForeign } from "./foreign.ts";
import type { MessageQueue } from "./queue/message-queue.ts";
import type { Outcome, Undelivered } from "./outcome.ts";
import type { Settings } from "./settings.ts";

/**
 * What tells the application of messages that ended so, through `onDrop` or `onReject`; `undefined` if it is not to be told.
 *
 * @param queue - Drops no other message for what a hook records while it runs.
 */
export function hookOf(
  outcome: Outcome,
  settings: Settings,
  queue: Pick<MessageQueue, "keepsAll">,
): ((told: Undelivered) => void) | undefined {
  // The application asked for these drops itself.
  if (outcome.status === "delivered" || ["disabled", "before-send"].includes(outcome.reason))
    return undefined;
  const name = outcome.status === "dropped" ? "onDrop" : "onReject";
  const hook = settings[name] as ((told: Undelivered) => void) | undefined;
  return (
    hook &&
    ((told) => {
      queue.keepsAll = true;
      // A hook that throws must not keep the other messages from their outcomes.
      callForeign(
        () => hook(told),
        (error) => settings.log?.(`${name} threw: ${String(error)}`),
      );
      queue.keepsAll = false;
    })
  );
}
