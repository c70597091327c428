import type { DeliveryJson, LiveEvent } from "@countersign/server";

/** An event of a server. */
export type ToldEvent =
  | LiveEvent
  | { readonly id: string; readonly at: string; readonly event: "accepted"; readonly delivery: DeliveryJson };
