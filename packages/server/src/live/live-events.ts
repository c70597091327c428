import { EventEmitter } from "node:events";
import type { Attempt, DeliveryInfo, Sender } from "@countersign/sender";
import type { Rejection, Warning } from "../ingest/rejection-reasons.ts";

/** What happens on a server, one after the other, for pages, logs and tests to follow. */
export type LiveEvent = { readonly id: number; readonly at: string } & (
  | { readonly event: "attempt"; readonly delivery: DeliveryInfo; readonly attempt: Attempt }
  | { readonly event: "delivered" | "failed" | "expired"; readonly delivery: DeliveryInfo }
  | {
      readonly event: "retrying";
      readonly delivery: DeliveryInfo;
      readonly dueAt: string;
      readonly delayMs: number;
    }
  | {
      readonly event: "skipped";
      readonly messageId: string;
      readonly type: string;
      readonly source: string;
      readonly reason: string;
    }
  | { readonly event: "rejected"; readonly source?: string; readonly rejection: Omit<Rejection, "message"> }
  | { readonly event: "warned"; readonly source: string; readonly warning: Warning }
  | { readonly event: "store_error"; readonly message: string }
);

type Unstamped = LiveEvent extends infer Each
  ? Each extends LiveEvent
    ? Omit<Each, "id" | "at">
    : never
  : never;

const KEPT_FOR_RECONNECTS = 500;

/** Collects the sender's events and the server's own into one sequence, and keeps the last ones for late subscribers. */
export class LiveEvents {
  readonly #emitter = new EventEmitter().setMaxListeners(0);
  readonly #recent: LiveEvent[] = [];
  readonly #now: () => number;
  #lastId = 0;

  constructor(sender: Sender, now: () => number) {
    this.#now = now;
    sender.on("attempt", ({ delivery, attempt }) => this.#emit({ event: "attempt", delivery, attempt }));
    for (const event of ["delivered", "failed", "expired"] as const) {
      sender.on(event, ({ delivery }) => this.#emit({ event, delivery }));
    }
    sender.on("retrying", ({ delivery, dueAt, delayMs }) =>
      this.#emit({ event: "retrying", delivery, dueAt: new Date(dueAt).toISOString(), delayMs }),
    );
    sender.on("skipped", (skipped) => this.#emit({ event: "skipped", ...skipped }));
    sender.on("storeError", ({ error }) => this.#emit({ event: "store_error", message: error.message }));
  }

  /** Tells that a message was rejected at the door. */
  rejected({ message: _, ...rejection }: Rejection, source: string | undefined): void {
    this.#emit({ event: "rejected", ...(source !== undefined && { source }), rejection });
  }

  /** Tells what the maker of an accepted message should know. */
  warned(warning: Warning, source: string): void {
    this.#emit({ event: "warned", source, warning });
  }

  /** Calls `listener` with every event from now on, and first with the kept ones after `lastId`, if given. */
  subscribe(listener: (event: LiveEvent) => void, lastId?: number): () => void {
    if (lastId !== undefined) for (const event of this.#recent) if (event.id > lastId) listener(event);
    this.#emitter.on("event", listener);
    return () => this.#emitter.off("event", listener);
  }

  #emit(event: Unstamped): void {
    this.#lastId += 1;
    const stamped: LiveEvent = { id: this.#lastId, at: new Date(this.#now()).toISOString(), ...event };
    this.#recent.push(stamped);
    if (this.#recent.length > KEPT_FOR_RECONNECTS) this.#recent.shift();
    this.#emitter.emit("event", stamped);
  }
}
