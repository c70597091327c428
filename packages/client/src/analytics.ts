// Symbol.asyncDispose, for consumers whose `lib` is older.
/// <reference lib="esnext.disposable" preserve="true" />
import {
  LONGEST_TIMER_MS,
  type AliasCall,
  type CallType,
  type GroupCall,
  type IdentifyCall,
  type PageCall,
  type ScreenCall,
  type TrackCall,
} from "@countersign/protocol";
import { checkEvent, type EventDefinitions, type EventSchemas, type TrackCallOf } from "./events.ts";
import type { AnalyticsOptions } from "./options.ts";
import type { Counts } from "./outcome.ts";
import type { Receipt } from "./receipt.ts";
import { Recorder } from "./recorder.ts";
import { serialize } from "./serialize.ts";
import { createSettings, wrong, type Settings } from "./settings.ts";

/**
 * Records what users do. Calls are checked and serialised at once, queued in memory and sent in batches in the
 * background (spec 4.2).
 *
 * A call throws a `ValidationError` if it cannot be recorded; otherwise it returns a {@link Receipt} that
 * says how it ended. Nothing else throws, rejects or prints, whatever the service does.
 *
 * @typeParam Schemas - The events of `options.events`, inferred.
 * @example
 * ```ts
 * const analytics = new Analytics("WRITE_KEY", { endpoint: "http://127.0.0.1:4010" });
 * analytics.track({ userId: "u1", event: "Order Completed", properties: { total: 99.5 } });
 * const { delivered, failed, dropped } = await analytics.close();
 * ```
 */
export class Analytics<Schemas extends EventSchemas = EventSchemas> {
  readonly #settings: Settings;
  readonly #recorder: Recorder;

  /**
   * @param writeKey - The source's write key, sent as the user name of Basic authentication (spec 5.3).
   * @param options - See {@link AnalyticsOptions}.
   * @throws TypeError if the write key is empty, or an option is unknown or wrong.
   */
  constructor(writeKey: string, options: AnalyticsOptions<Schemas> = {}) {
    this.#settings = createSettings(writeKey, options);
    this.#recorder = new Recorder(this.#settings);
  }

  /** The outcomes of all calls so far. */
  get counts(): Counts {
    return this.#recorder.counts;
  }

  /**
   * Ties a user to who they are (spec 2.3).
   *
   * @throws ValidationError if the call cannot be recorded.
   * @example
   * ```ts
   * analytics.identify({ userId: "u1", traits: { email: "ada@example.com" } });
   * ```
   */
  identify(call: IdentifyCall): Receipt {
    return this.#record("identify", call, arguments[1]);
  }

  /**
   * Records something a user did (spec 2.3).
   *
   * @throws ValidationError if the call cannot be recorded.
   * @throws TypeError if `validateEvents` is on and the event's schema is asynchronous.
   * @example
   * ```ts
   * analytics.track({ userId: "u1", event: "Order Completed", properties: { total: 99.5 } });
   * ```
   */
  track(call: TrackCallOf<Schemas>): Receipt {
    return this.#record("track", call, arguments[1]);
  }

  /**
   * Records a web page a user saw (spec 2.3). Its `traits` are sent as `properties`.
   *
   * @throws ValidationError if the call cannot be recorded.
   * @example
   * ```ts
   * analytics.page({ anonymousId: "a1", name: "Pricing", traits: { path: "/pricing" } });
   * ```
   */
  page(call: PageCall): Receipt {
    return this.#record("page", call, arguments[1]);
  }

  /**
   * Records a screen of an app a user saw (spec 2.2).
   *
   * @throws ValidationError if the call cannot be recorded.
   * @example
   * ```ts
   * analytics.screen({ userId: "u1", name: "Cart" });
   * ```
   */
  screen(call: ScreenCall): Receipt {
    return this.#record("screen", call, arguments[1]);
  }

  /**
   * Puts a user into a group (spec 2.3).
   *
   * @throws ValidationError if the call cannot be recorded.
   * @example
   * ```ts
   * analytics.group({ userId: "u1", groupId: "g1", traits: { plan: "team" } });
   * ```
   */
  group(call: GroupCall): Receipt {
    return this.#record("group", call, arguments[1]);
  }

  /**
   * Gives a user a new id (spec 2.3).
   *
   * @throws ValidationError if the call cannot be recorded.
   * @example
   * ```ts
   * analytics.alias({ previousId: "a1", userId: "u1" });
   * ```
   */
  alias(call: AliasCall): Receipt {
    return this.#record("alias", call, arguments[1]);
  }

  /**
   * Sends the queue, and waits until every call made so far has ended.
   *
   * @param deadline - Milliseconds to wait at most. Calls that have not ended then count as `pending`, and continue.
   * @returns The counts since the client was created.
   * @throws TypeError if the deadline is not a number of milliseconds.
   * @example
   * ```ts
   * const { pending } = await analytics.flush(2_000);
   * ```
   */
  async flush(deadline?: number): Promise<Counts> {
    return this.#recorder.flush(checkDeadline(deadline));
  }

  /**
   * Accepts no more calls, sends the queue, and waits until every call has ended. Calling it again is
   * harmless.
   *
   * @param deadline - Milliseconds after which the rest is dropped and requests in flight are aborted. Without it,
   *   `options.retry` decides how long to wait for a service that is down.
   * @returns The counts since the client was created. `pending` is 0.
   * @throws TypeError if the deadline is not a number of milliseconds.
   * @example
   * ```ts
   * server.close();
   * const { delivered, failed, dropped } = await analytics.close(5_000);
   * ```
   */
  async close(deadline?: number): Promise<Counts> {
    return this.#recorder.close(checkDeadline(deadline));
  }

  /** As {@link Analytics.close} without a deadline, for `await using`. */
  async [Symbol.asyncDispose](): Promise<void> {
    await this.close();
  }

  #record(type: CallType, call: unknown, callback: unknown): Receipt {
    if (typeof callback === "function") {
      // Clients of other kinds take one. Here it would never run.
      throw new TypeError(`${type}() takes no callback. Await the receipt that it returns.`);
    }
    const serialized = serialize(type, call, this.#settings);
    if (type === "track" && this.#settings.validateEvents) {
      // There are definitions, or the option would have been refused; and an event, or it could not have been serialised.
      checkEvent((this.#settings.events as EventDefinitions).schemas, call as TrackCall);
    }
    return this.#recorder.record(serialized);
  }
}

function checkDeadline(deadline: number | undefined): number | undefined {
  // A text would be appended to the time, and `null` would be a deadline that is over.
  const isTime = typeof deadline === "number" && deadline >= 0 && deadline <= LONGEST_TIMER_MS;
  if (isTime || deadline === undefined) return deadline;
  throw wrong("The deadline", "a number of milliseconds, such as 5000", deadline);
}
