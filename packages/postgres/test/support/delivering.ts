import type { DeliveryHandler, Settlement } from "@countersign/sender/store";
import { happened } from "./until.ts";

/** A handler that delivers everything at once, and the ids of what was delivered. */
export function delivering(): { readonly handler: DeliveryHandler; readonly ended: ReadonlySet<string> } {
  const ended = new Set<string>();
  const handler: DeliveryHandler = {
    deliver: async (): Promise<Settlement> => ({ state: "delivered", endedAt: Date.now(), attempts: [] }),
    settled: ({ delivery }, { state }) => {
      // One that is given back, since it would wait for too long, is settled, too.
      if (state !== "pending") ended.add(delivery.id);
      happened();
    },
    lost: () => {},
  };
  return { handler, ended };
}
