import type { CertificationEvent } from "../jobs/certifications.ts";
import type { Rejection, Warning } from "../ingest/rejections.ts";
import type { AttemptEventJson, DeliveryJson, SkippedJson } from "../shapes/delivery-shapes.ts";
import type { FaultJson } from "../shapes/fault-shapes.ts";
import type { ResendJobJson } from "../jobs/resend-jobs.ts";
import type { ResetReason, Stamp } from "./event-log.ts";
import type { FaultChange } from "./fault-list.ts";
import type { StoreStateJson } from "./store-room.ts";

/** An event, in the shape that the control API, `serve --json` and listeners get. Times are ISO 8601. */
export type LiveEventBody =
  | { readonly event: "accepted"; readonly delivery: DeliveryJson }
  | { readonly event: "attempt"; readonly delivery: DeliveryJson; readonly attempt: AttemptEventJson }
  | {
      readonly event: "delivered" | "failed" | "expired";
      readonly delivery: DeliveryJson;
      readonly state: "delivered" | "failed" | "expired";
      readonly endedAt: string;
    }
  | {
      readonly event: "retrying";
      readonly delivery: DeliveryJson;
      readonly state: "pending";
      readonly dueAt: string;
      /** Milliseconds from now. */
      readonly delayMs: number;
    }
  | { readonly event: "skipped"; readonly call: SkippedJson }
  | {
      readonly event: "failing" | "recovered";
      readonly destination: string;
      readonly endpoint: string;
      /** How many attempts failed in a row. */
      readonly failures: number;
      readonly since: string;
      readonly last: AttemptEventJson;
    }
  | {
      readonly event: "forgery";
      readonly destination: string;
      readonly endpoint: string;
      /** The fault, or the audit, that forged the message. */
      readonly fault: string;
      /** Whether it has accepted the forged message; `false` when it has been seen to refuse such a one since. */
      readonly accepted: boolean;
    }
  | {
      readonly event: "rejected";
      readonly source?: string;
      readonly rejection: Omit<Rejection, "message">;
      /** How many more messages of the same request were rejected, and have no event of their own. */
      readonly more?: number;
    }
  | { readonly event: "warned"; readonly source: string; readonly warning: Warning }
  | {
      readonly event: "settings";
      /** The ETag that the settings now have. */
      readonly etag: string;
      /** The source that was changed. */
      readonly source: string;
      readonly removed?: true;
    }
  | {
      readonly event: "fault";
      readonly change: FaultChange;
      readonly fault: FaultJson;
    }
  | CertificationEvent
  | { readonly event: "resend"; readonly job: ResendJobJson }
  | { readonly event: "cleared"; readonly removed: number }
  | { readonly event: "advancing"; readonly now: string; readonly advancingTo: string }
  | { readonly event: "clock"; readonly now: string; readonly advancedMs: number }
  | ({ readonly event: "store" } & StoreStateJson)
  | { readonly event: "store_error"; readonly message: string };

/** One thing that happened on a server, or the news that events are missing. */
export type LiveEvent = (LiveEventBody & Stamp) | ResetEvent;

/** Tells a reader that it has missed events: it must read everything again. */
export interface ResetEvent extends Stamp {
  readonly event: "reset";
  readonly run: string;
  readonly reason: ResetReason;
}

/** Tells a new reader that it has missed no events. */
export interface HelloEvent extends Stamp {
  readonly event: "hello";
  readonly run: string;
}
