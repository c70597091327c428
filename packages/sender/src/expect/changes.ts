import { clearTimeout, setTimeout } from "node:timers";
import type { Sender } from "../engine/sender.ts";
import type { SenderEvents } from "../engine/sender-events.ts";

/** Reports when to check again. */
export interface Changes {
  /** Resolves with the next event of the sender, or one since the last call; after so many milliseconds anyway. */
  next(ms: number): Promise<void>;
  /** Listens no more. */
  stop(): void;
}

const EVENTS: readonly (keyof SenderEvents)[] = [
  "accepted",
  "attempt",
  "delivered",
  "retrying",
  "failed",
  "expired",
  "skipped",
];

/** Listens to every event of a sender. */
export function watchChanges(sender: Pick<Sender, "on" | "off">): Changes {
  let changed = false;
  let wake: (() => void) | undefined;
  const onChange = (): void => {
    changed = true;
    wake?.();
  };
  for (const event of EVENTS) {
    sender.on(event, onChange);
  }
  return {
    async next(ms) {
      if (!changed) {
        await new Promise<void>((resolve) => {
          const timer = setTimeout(resolve, ms);
          wake = () => {
            clearTimeout(timer);
            resolve();
          };
        });
      }
      changed = false;
    },
    stop() {
      for (const event of EVENTS) {
        sender.off(event, onChange);
      }
    },
  };
}
