import type { Clock } from "@countersign/protocol";
import type { EventDefinitions, EventSchemas } from "./events.ts";
import type { Log } from "./log.ts";
import type { BeforeSend } from "./message.ts";
import type { WhenFull } from "./queue/message-queue.ts";
import type { Dropped, Rejected, Undelivered } from "./outcome.ts";
import type { RetryOptions } from "./wire/retry.ts";
import type { Transport } from "./wire/transport.ts";

/** Settings of an `Analytics` client. Each may be left out. */
export interface AnalyticsOptions<Schemas extends EventSchemas = EventSchemas> {
  /**
   * Where to send: an http or https URL. `/v1/batch` is added to it unless its path has `/v1/` already. `undefined` is refused: a
   * variable that is not set must not send the events of users to somebody else.
   * Default: `https://api.segment.io`.
   */
  readonly endpoint?: string;
  /** Flush when this many messages are queued, 1 to 2,500; 1 sends each by itself at once. Default: 20 (spec 8). */
  readonly flushAt?: number | undefined;
  /** Another name for `flushAt`. */
  readonly size?: number | undefined;
  /** Flush when this many milliseconds have passed since the last flush. Default: 5,000 (spec 8). */
  readonly flushAfter?: number | undefined;

  /** How many messages may be held: queued, in flight and waiting for a retry. Default: 10,000. */
  readonly maxQueueSize?: number | undefined;
  /**
   * How many bytes of memory they may take, at least 32,785: the bytes of their JSON and 17 each. Messages
   * that have to wait are packed, and count with their packed size, often half. Default: 16 MiB.
   */
  readonly maxQueueBytes?: number | undefined;
  /**
   * What to do with a call when the queue is full. `drop-newest` drops it; `drop-oldest` drops the oldest
   * ones that are not in flight; `wait` makes it wait in a line with the same bounds as the queue, and the
   * receipt's `accepted` resolves when the queue accepts it. Default: `drop-newest`.
   */
  readonly whenFull?: WhenFull | undefined;
  /**
   * Called with each message that was dropped. Its errors are logged and ignored. A call that a hook makes replaces no other,
   * and if there is no room for that call, only its receipt says so: no hook is called. There is none when everything is
   * dropped: at a deadline, and at exit.
   */
  readonly onDrop?: ((undelivered: Undelivered<Dropped>) => void) | undefined;
  /** Called with each message that the service rejected. Its errors are logged and ignored. */
  readonly onReject?: ((undelivered: Undelivered<Rejected>) => void) | undefined;

  /** Requests in flight at once, those waiting for a retry included. With 1 batches arrive in order. Default: 4. */
  readonly maxInFlight?: number | undefined;
  /** Milliseconds after which a request without an answer has failed. Default: 10,000. */
  readonly requestTimeout?: number | undefined;
  /** When to retry, and for how long. */
  readonly retry?: RetryOptions | undefined;
  /** Compress request bodies. Default: false. */
  readonly gzip?: boolean | undefined;
  /** More request headers. Those that the protocol needs cannot be replaced. */
  readonly headers?: Readonly<Record<string, string>> | undefined;

  /**
   * Send nothing, in tests for example. Calls are checked as always, then end as `dropped` with the reason
   * `disabled`, without a call of `onDrop`. Default: false.
   */
  readonly disable?: boolean | undefined;
  /**
   * Called with each message before it is queued. Return it, changed or not, or null to drop it: the call then ends as
   * `dropped` with the reason `before-send`, without a call of `onDrop`. The message is a copy, so it may be changed in place,
   * except for its `type`. The result is checked like a call. If that fails, or if the hook throws, the message is not sent:
   * the call ends as `dropped` with the reason `internal-error`.
   */
  readonly beforeSend?: BeforeSend | undefined;

  /**
   * Flush on SIGTERM and SIGINT as well, before the process ends, and in a worker of `node:cluster` when its primary process has
   * ended. Default: false.
   */
  readonly flushOnSignals?: boolean | undefined;
  /**
   * Milliseconds that the flush at exit may take, by the machine's clock also if `clock` is another one; the remaining messages are
   * then dropped. Default: 5,000.
   */
  readonly exitTimeout?: number | undefined;

  /** From `defineEvents()`: `track()` accepts only these events, with the properties of their schemas. */
  readonly events?: EventDefinitions<Schemas> | undefined;
  /** Check calls against `events` at run time too; the compiler checks them anyway. Default: false. */
  readonly validateEvents?: boolean | undefined;

  /**
   * Called with each line of the log, without the write key. Its errors are ignored. Default: standard error with
   * `DEBUG=analytics`, else none.
   */
  readonly log?: Log | undefined;
  /** The time. Default: this machine's. */
  readonly clock?: Clock | undefined;
  /** Makes message ids, under 100 characters. Default: `crypto.randomUUID()`. */
  readonly ids?: (() => string) | undefined;
  /** Makes numbers from 0 up to 1, for the jitter of retries. Default: `Math.random()`. */
  readonly random?: (() => number) | undefined;
  /** Makes the requests. Default: global `fetch`. */
  readonly transport?: Transport | undefined;
}
