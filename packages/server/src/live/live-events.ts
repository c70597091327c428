import { roundedMs } from "@countersign/protocol";
import type { Attempt, DeliveryInfo, Sender } from "@countersign/sender";
import { END_STATES } from "@countersign/sender/store";
import type { Rejection, Warning } from "../ingest/rejections.ts";
import { attemptEventJson, deliveryJson, skippedJson } from "../shapes/delivery-shapes.ts";
import { iso } from "../shapes/times.ts";
import { EventLog } from "./event-log.ts";
import type { LiveEvent, LiveEventBody } from "./live-event.ts";

/** The same error of the store is told once in this time. */
const STORE_ERROR_EVERY_MS = 60_000;
/** Different ones that are remembered. */
const MAX_STORE_ERRORS = 100;

/** Of one request: a few hundred bytes of gzip are thousands of messages, which would push out the events of all other sources. */
const MAX_REJECTIONS_TOLD = 10;

/** How {@link LiveEvents} is made. */
export interface LiveEventsOptions {
  /** The time, in milliseconds since 1970. */
  readonly now: () => number;
  /** Receives what a listener throws; the other listeners are still called. */
  readonly onError: (error: unknown) => void;
}

/** Makes one sequence of what the sender and the server tell, for pages, terminals and tests to follow. */
export class LiveEvents {
  /** The last events; readers of the stream have positions in it. */
  readonly log: EventLog<LiveEventBody> = new EventLog();
  readonly #now: () => number;
  readonly #onError: (error: unknown) => void;
  /** When each error of the store was told last, by `performance.now()`. */
  readonly #storeErrors = new Map<string, number>();

  constructor(sender: Sender, { now, onError }: LiveEventsOptions) {
    this.#now = now;
    this.#onError = onError;
    sender.on("accepted", ({ delivery, resendOf }) =>
      this.#add(
        () => ({ event: "accepted", delivery: deliveryJson(delivery, resendOf) }),
        charactersOfCall(delivery),
      ),
    );
    sender.on("attempt", ({ delivery, attempt }) =>
      this.#add(
        () => ({ event: "attempt", delivery: deliveryJson(delivery), attempt: attemptEventJson(attempt) }),
        charactersOfCall(delivery) + charactersOfAttempt(attempt),
      ),
    );
    for (const state of END_STATES) {
      sender.on(state, ({ delivery }) => {
        const endedAt = now();
        this.#add(
          () => ({ event: state, delivery: deliveryJson(delivery), state, endedAt: iso(endedAt) }),
          charactersOfCall(delivery),
        );
      });
    }
    sender.on("retrying", ({ delivery, dueAt, delayMs }) =>
      this.tell({
        event: "retrying",
        delivery: deliveryJson(delivery),
        state: "pending",
        dueAt: iso(dueAt),
        delayMs: roundedMs(delayMs),
      }),
    );
    sender.on("skipped", (call) => this.tell({ event: "skipped", call: skippedJson(call) }));
    for (const event of ["failing", "recovered"] as const) {
      sender.on(event, ({ since, last, ...streak }) =>
        this.tell({ event, ...streak, since: iso(since), last: attemptEventJson(last) }),
      );
    }
    sender.on("storeError", ({ error }) => this.#storeFailed(error.message));
  }

  /** Tells that messages of one request were rejected at the door: the first ten one by one, and with the last how many more there are. */
  rejected(rejections: readonly Rejection[], source: string | undefined): void {
    const told = rejections.slice(0, MAX_REJECTIONS_TOLD);
    const more = rejections.length - told.length;
    for (const [index, { message: _, ...rejection }] of told.entries()) {
      const isLast = index === told.length - 1;
      this.tell({
        event: "rejected",
        ...(source !== undefined && { source }),
        rejection,
        ...(isLast && more > 0 && { more }),
      });
    }
  }

  /** Tells what the maker of an accepted message should know. */
  warned(warning: Warning, source: string): void {
    this.tell({ event: "warned", source, warning });
  }

  /** Adds an event to the sequence. */
  tell(event: LiveEventBody): void {
    this.#add(() => event, charactersOf(event));
  }

  /**
   * A store in trouble fails for each delivery on its way, every second, with the same words. Nobody would find anything else between
   * them, and a log would grow for as long as the disk is full.
   */
  #storeFailed(message: string): void {
    const now = performance.now();
    const toldAt = this.#storeErrors.get(message) ?? Number.NEGATIVE_INFINITY;
    if (now - toldAt < STORE_ERROR_EVERY_MS) return;
    if (this.#storeErrors.size >= MAX_STORE_ERRORS) this.#storeErrors.clear();
    this.#storeErrors.set(message, now);
    this.tell({ event: "store_error", message });
  }

  #add(make: () => LiveEventBody, characters: number): void {
    this.log.add(make, this.#now(), characters);
  }

  /**
   * Calls `listener` with every event from now on, or after one.
   *
   * @param after The id of an event, or `start` for everything that is kept. When events after it are no longer kept, the
   * listener first gets a `reset`.
   * @returns What stops that.
   */
  subscribe(listener: (event: LiveEvent) => void, after?: string): () => void {
    const call = (event: LiveEvent): void => {
      try {
        listener(event);
      } catch (error) {
        this.#onError(error);
      }
    };
    const start = this.log.startAfter(after);
    let { position } = start;
    if (start.reset) {
      const id = this.log.idOf(position);
      call({ id, at: iso(this.#now()), event: "reset", run: this.log.run, reason: start.reset });
    }
    let subscribed = true;
    let reading = false;
    // A listener that causes an event gets that one after the one it is in.
    const read = (): void => {
      if (reading) return;
      reading = true;
      for (;;) {
        const event = subscribed ? this.log.at(position + 1) : undefined;
        if (!event) break;
        position += 1;
        call(event);
      }
      reading = false;
    };
    const unsubscribe = this.log.onAdded(read);
    read();
    return () => {
      subscribed = false;
      unsubscribe();
    };
  }
}

/** About how much text of an event comes from outside. */
function charactersOf(event: LiveEventBody): number {
  switch (event.event) {
    case "retrying":
      return charactersOfCall(event.delivery);
    case "skipped":
      return charactersOfCall(event.call);
    case "failing":
    case "recovered":
      return event.last.response.length;
    case "audit":
      return event.result.outcome === "failed" ? charactersIn(event.result.failure) : 0;
    case "rejected":
      return event.rejection.detail.length;
    case "warned":
      return event.warning.paths.reduce((sum, path) => sum + path.length, event.warning.detail.length);
    default:
      return 0;
  }
}

/** The names in a call are as long as its client likes: up to 32 KB. */
function charactersOfCall({ event = "", identity }: Pick<DeliveryInfo, "event" | "identity">): number {
  return event.length + identity.length;
}

function charactersOfAttempt({ response, message = "", responseHeaders = {} }: Attempt): number {
  return response.length + message.length + charactersIn(responseHeaders);
}

function charactersIn(texts: object): number {
  return Object.values(texts).reduce((sum, text) => sum + String(text).length, 0);
}
