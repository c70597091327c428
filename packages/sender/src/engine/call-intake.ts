import { type Clock, timeOrderedId } from "@countersign/protocol";
import {
  buildDeleteMessage,
  buildMessage,
  type BuiltMessage,
  type MessageDefaults,
} from "../calls/build-message.ts";
import { CallError } from "../calls/call-error.ts";
import type { CallOptions, Calls } from "../calls/calls.ts";
import { isSelected } from "../calls/selection.ts";
import { checkCallOptions } from "./check-options.ts";
import type { RandomSource } from "./random-source.ts";
import type { SkipReason } from "./sender.ts";
import type { Source } from "../settings/parse-settings.ts";
import type { Acceptance, DeliveryStore, NewDelivery, NewMessage } from "../store/delivery-store.ts";

/** A call turned into what has to be stored. */
export interface Intake {
  readonly acceptance: Acceptance;
  readonly message: BuiltMessage;
  readonly source: string;
  readonly skipped: SkipReason | undefined;
}

/** Turns calls into messages and deliveries: which source, which destinations, which ids. Stores nothing. */
export class CallIntake {
  readonly #clock: Clock;
  readonly #ids: RandomSource;
  sources: readonly Source[] = [];

  constructor(clock: Clock, ids: RandomSource) {
    this.#clock = clock;
    this.#ids = ids;
  }

  /** @throws CallError when the call is not valid */
  take<T extends keyof Calls>(type: T, call: Calls[T], options: CallOptions = {}): Intake {
    const source = this.sourceOf(options);
    const message = buildMessage(type, call, this.defaults());
    const isBlocked = message.event !== undefined && source.blockedEvents.has(message.event);
    const reason = isBlocked ? "blocked_event" : isSelected(call.integrations) ? undefined : "integrations";
    const isCounted = !isBlocked || source.countFiltered;
    return this.#intake(source, message, reason, isCounted ? 1 : 0);
  }

  /** @throws CallError when the user or the time is not valid */
  takeDelete(source: Source, userId: string, timestamp: Date | string | undefined): Intake {
    return this.#intake(source, buildDeleteMessage(userId, timestamp, this.defaults()), undefined, 0);
  }

  /** A fresh id, and the time. */
  defaults(): MessageDefaults {
    return { messageId: this.newId(), now: this.now() };
  }

  newId(): string {
    return timeOrderedId(this.now(), this.#ids.uint32);
  }

  now(): number {
    return Math.floor(this.#clock.now());
  }

  /** @throws CallError when the options name no source, or none where there are several */
  sourceOf(options: CallOptions): Source {
    checkCallOptions(options);
    const { source: name, writeKey } = options;
    const matches = this.sources.filter(
      (source) =>
        (name === undefined || source.name === name) &&
        (writeKey === undefined || source.writeKey === writeKey),
    );
    const [source] = matches;
    if (source !== undefined && matches.length === 1) return source;
    const names = this.sources.map((one) => JSON.stringify(one.name)).join(", ");
    const problem =
      source === undefined ? "No source has this name and write key." : "There are several sources.";
    throw new CallError("ERR_UNKNOWN_SOURCE", `${problem} Name one of them in { source }: ${names}.`, {
      field: writeKey === undefined ? "source" : "writeKey",
    });
  }

  /** How many deliveries are pending to destinations that are enabled. */
  async countPending(store: DeliveryStore): Promise<number> {
    const counts = await store.counts();
    const enabled = this.sources.flatMap(({ destinations }) => destinations.filter((one) => one.enabled));
    return enabled.reduce((sum, { key }) => sum + (counts.get(key)?.pending ?? 0), 0);
  }

  /** A message, and a delivery of it for each enabled destination of its source. */
  deliver(
    source: Source,
    message: BuiltMessage,
    position: number,
  ): { message: NewMessage; deliveries: NewDelivery[] } {
    const destinations = source.destinations.filter(({ enabled }) => enabled);
    return {
      message: { ...message, source: source.name, acceptedAt: this.now() },
      deliveries: destinations.map(({ key }) => ({ id: this.newId(), destination: key, message: position })),
    };
  }

  #intake(source: Source, message: BuiltMessage, reason: SkipReason | undefined, calls: number): Intake {
    const usage = new Map(calls === 0 ? [] : [[source.name, calls]]);
    const stored = this.deliver(source, message, 0);
    const skipped = reason ?? (stored.deliveries.length === 0 ? "no_destination" : undefined);
    const acceptance =
      skipped === undefined
        ? { messages: [stored.message], deliveries: stored.deliveries, usage }
        : { messages: [], deliveries: [], usage };
    return { acceptance, message, source: source.name, skipped };
  }
}
