import { type Clock, parseRetryAfter, roundedMs } from "@countersign/protocol";
import { performance } from "node:perf_hooks";
import { clearTimeout, setTimeout } from "node:timers";
import { AsyncResource } from "node:async_hooks";
import { setMaxListeners } from "node:events";
import { sign } from "@countersign/core";
import type { Attempt } from "../delivery/attempt.ts";
import type { Delivery, DueDelivery, Settlement } from "../delivery/delivery.ts";
import type { RetryPolicy } from "../delivery/retry-policy.ts";
import {
  endpointsOfRound,
  interruptRound,
  isOver,
  type RoundAttempt,
  settleRound,
} from "../delivery/rounds.ts";
import { withoutCredentials } from "../settings/hidden-credentials.ts";
import type { Destination, Source } from "../settings/parse-settings.ts";
import type { EndpointSettings } from "../settings/settings.ts";
import type { Consumer, DeliveryHandler, DeliveryStore } from "../store/delivery-store.ts";
import { assertResult, resultOfRejection } from "../transport/classify.ts";
import type { AttemptRequest, AttemptResult, Transport } from "../transport/transport.ts";
import type { EventHub } from "./event-hub.ts";
import type { RandomSource } from "./random-source.ts";
import type { EndpointRecorder } from "./endpoint-recorder.ts";
import type { MinuteCounts } from "./minute-counts.ts";

/** The parts of an engine. */
export interface EngineParts {
  readonly store: DeliveryStore;
  readonly clock: Clock;
  readonly transport: Transport;
  /** Knows when to try again, as it is now. */
  readonly keeper: { readonly policy: RetryPolicy };
  /** Whether due deliveries are sent; else they are left to other processes. */
  readonly delivers: boolean;
  /** How long an endpoint may take to respond, in milliseconds. */
  readonly timeoutMs: number;
  readonly random: RandomSource;
  readonly events: EventHub;
  readonly recorder: EndpointRecorder;
  readonly minutes: MinuteCounts;
}

/** Identifies the sender to receivers (spec 2.2). */
const USER_AGENT = "Countersign/1.0";
const CONTENT_TYPE = "application/json";

/** The code of an attempt that we aborted. */
const ABORTED_CODE = "ERR_ABORTED";

interface Serving {
  readonly concurrency: number;
  readonly consumer: Consumer;
}

/** Claims due deliveries of every enabled destination, attempts them, and decides how they continue. */
export class Engine implements DeliveryHandler {
  readonly #parts: EngineParts;
  readonly #serving = new Map<string, Serving>();
  readonly #giveUp = new AbortController();
  readonly #leaving = new Map<string, Promise<void>>();
  readonly #handler: DeliveryHandler;
  #destinations: ReadonlyMap<string, Destination> = new Map();

  constructor(parts: EngineParts) {
    this.#parts = parts;
    // Every attempt in progress adds a listener.
    setMaxListeners(0, this.#giveUp.signal);
    // A store hands deliveries over in the context (AsyncLocalStorage) of the call that woke it, often another one. What an app
    // keeps there for a request, such as its trace, would be logged, or sent to endpoints, with the messages of others.
    const own = new AsyncResource("countersign.deliveries", { requireManualDestroy: true });
    this.#handler = {
      deliver: own.bind(this.deliver.bind(this)),
      settled: own.bind(this.settled.bind(this)),
      lost: own.bind(this.lost.bind(this)),
    };
  }

  /** Serves the enabled destinations of these sources, and no others. */
  configure(sources: readonly Source[]): void {
    const before = this.#destinations;
    const destinations = new Map<string, Destination>();
    for (const source of sources) {
      for (const destination of source.destinations) destinations.set(destination.key, destination);
    }
    this.#destinations = destinations;
    for (const key of before.keys()) if (!destinations.has(key)) this.#reconcile(key);
    for (const [key, destination] of destinations) if (before.get(key) !== destination) this.#reconcile(key);
  }

  /**
   * Stops claiming, and resolves when nothing is in progress. Attempts that take longer than `attemptsMs` are
   * aborted, and abandoned if that has not ended them after another `windDownMs`.
   */
  async stop(attemptsMs: number, windDownMs: number): Promise<void> {
    const giveUp = setTimeout(() => this.#giveUp.abort(), attemptsMs);
    let leave: NodeJS.Timeout | undefined;
    const tooLate = new Promise<void>((resolve) => {
      leave = setTimeout(resolve, attemptsMs + windDownMs);
    });
    this.configure([]);
    await Promise.race([Promise.all(this.#leaving.values()), tooLate]);
    clearTimeout(giveUp);
    clearTimeout(leave);
    this.#giveUp.abort();
  }

  /** One round: every endpoint that has not rejected the message, at the same time. */
  async deliver(due: DueDelivery, signal: AbortSignal): Promise<Settlement> {
    const { clock, random, transport, keeper } = this.#parts;
    const { policy } = keeper;
    const destination = this.#destinations.get(due.delivery.destination);
    // The settings of its destination have changed since the claim, or another process has taken it over: it waits.
    const isStopped = signal.aborted || this.#giveUp.signal.aborted;
    if (destination?.enabled !== true || isStopped) return interruptRound(due, [], policy);
    const now = clock.now();
    if (isOver(due, now, policy)) return { state: "expired", endedAt: now, attempts: [] };

    const called = endpointsOfRound(destination.endpoints, due.progress, now);
    let broken: Broken | undefined;
    try {
      const heldBackMs = transport.holdBack === undefined ? 0 : holdBackMs(transport.holdBack, due, called);
      if (heldBackMs > 0) return { ...interruptRound(due, [], policy), dueAt: now + heldBackMs };
    } catch (error) {
      broken = { error };
    }
    const attempts = called.map((endpoint) => this.#attempt(due, destination, endpoint, broken));
    const results = attempts.length === 1 ? [await attempts[0]] : await Promise.all(attempts);
    const tried = results.length === 1 ? (results[0] ?? []) : asTheyEnded(results);
    if (results.includes(undefined) && !tried.some(({ attempt }) => attempt.outcome === "success")) {
      return interruptRound(due, tried, policy);
    }
    // An endpoint that was added meanwhile may accept what the others have rejected.
    const { endpoints } = this.#destinations.get(due.delivery.destination) ?? destination;
    return settleRound({ due, endpoints, tried, now: clock.now(), random }, policy);
  }

  settled({ delivery }: DueDelivery, settlement: Settlement): void {
    const { events, minutes } = this.#parts;
    if (settlement.state !== "pending") minutes.add(settlement.state);
    events.emitSettled(delivery, settlement);
  }

  lost({ delivery }: DueDelivery, { attempts }: Settlement): void {
    this.#parts.events.emit("lost", { delivery, attempts });
  }

  /** A delivery as it is shown: attempts of earlier versions were stored with the credentials that came back. */
  shown(delivery: Delivery): Delivery {
    const credentials = this.#destinations.get(delivery.destination)?.credentials;
    if (credentials === undefined || !delivery.attempts.some(isFromBefore)) return delivery;
    const attempts = delivery.attempts.map((attempt) =>
      isFromBefore(attempt) ? withoutCredentials(attempt, credentials) : attempt,
    );
    return { ...delivery, attempts };
  }

  /** What one endpoint gets in a round: one POST, unless the transport makes more; undefined when we aborted it. */
  async #attempt(
    due: DueDelivery,
    destination: Destination,
    endpoint: EndpointSettings,
    broken: Broken | undefined,
  ): Promise<readonly RoundAttempt[] | undefined> {
    const { clock, events, recorder, transport, timeoutMs } = this.#parts;
    const startedAt = clock.now();
    const began = performance.now();
    const { delivery } = due;
    const giveUp = this.#giveUp.signal;
    const request = requestOf(due, destination, endpoint);
    let last: AttemptResult;
    try {
      if (broken !== undefined) throw broken.error;
      last = assertResult(await transport.send(request, { timeoutMs, signal: giveUp }));
    } catch (error) {
      last = resultOfRejection(error, performance.now() - began);
      if (giveUp.aborted) last = { ...last, code: ABORTED_CODE };
    }
    const results = last.earlier === undefined ? [last] : [...last.earlier, last];
    // A transport may use this code for an attempt of its own accord. That is a failure: as an interruption, it would be tried
    // again at once, without end.
    if (giveUp.aborted && results.some(({ code }) => code === ABORTED_CODE)) return undefined;
    const tried: RoundAttempt[] = [];
    for (const result of results) {
      const whole = attemptOf(result, due.rounds + 1, endpoint.url, startedAt);
      const attempt = withoutCredentials(whole, destination.credentials);
      events.emit("attempt", { delivery, attempt });
      recorder.record(destination.key, attempt);
      const { retryAfter } = result;
      tried.push({
        attempt,
        notBefore: retryAfter === undefined ? undefined : notBeforeOf(result, clock.now()),
      });
    }
    return tried;
  }

  /** Starts or stops serving a destination, as the settings want it now. */
  #reconcile(key: string): void {
    const wanted = this.#destinations.get(key);
    const serving = this.#serving.get(key);
    const isWanted = wanted?.enabled === true && this.#parts.delivers;
    if (serving !== undefined && (!isWanted || wanted.concurrency !== serving.concurrency)) {
      this.#serving.delete(key);
      const left = serving.consumer.stop().then(() => {
        this.#leaving.delete(key);
        this.#reconcile(key);
      });
      this.#leaving.set(key, left);
    } else if (serving === undefined && isWanted && !this.#leaving.has(key)) {
      // Only when the former consumer has left: what it still has in progress would be claimed twice.
      const consumer = this.#parts.store.consume(key, wanted.concurrency, this.#handler);
      this.#serving.set(key, { concurrency: wanted.concurrency, consumer });
    }
  }
}

/** The attempts of a round, in the order in which they ended; those that delivered the message come last: lists show the last one. */
function asTheyEnded(results: readonly (readonly RoundAttempt[] | undefined)[]): readonly RoundAttempt[] {
  const tried = results.flatMap((result) => (result === undefined ? [] : [result]));
  return tried.toSorted((a, b) => placeOf(a) - placeOf(b)).flat();
}

/** More than any attempt takes. */
const AFTER_FAILURES_MS = 1e12;

function placeOf(tried: readonly RoundAttempt[]): number {
  const last = tried.at(-1)?.attempt;
  if (last === undefined) return 0;
  return last.durationMs + (last.outcome === "success" ? AFTER_FAILURES_MS : 0);
}

/** Whether an attempt may have been stored before attempts kept their headers, and hid credentials. */
function isFromBefore({ response, requestHeaders }: Attempt): boolean {
  return response !== "" && requestHeaders === undefined;
}

/**
 * The request of one attempt: the body as it is stored, signed with the secret as it is now. An object that begins as a copy
 * of another one, `{ ...own, name: value }`, has a hidden class of its own: with such headers, each attempt took 0.9 µs more to make
 * them, and longer to read them. So the names are written first.
 */
function requestOf(
  { delivery, body }: DueDelivery,
  { secret }: Destination,
  { url, headers, ca }: EndpointSettings,
): AttemptRequest {
  if (secret === undefined) {
    const unsigned = { "User-Agent": USER_AGENT, "Content-Type": CONTENT_TYPE, ...headers };
    return { url, headers: unsigned, body, ca, delivery };
  }
  const signature = sign(body, secret);
  const signed = {
    "User-Agent": USER_AGENT,
    "Content-Type": CONTENT_TYPE,
    "X-Signature": signature,
    ...headers,
  };
  return { url, headers: signed, body, ca, delivery, sign: (bytes) => sign(bytes, secret) };
}

/** What a transport threw before there was an attempt. */
interface Broken {
  readonly error: unknown;
}

/** For how long a transport holds back a delivery that it has not held back before. */
function holdBackMs(
  holdBack: NonNullable<Transport["holdBack"]>,
  { delivery, rounds, dueAt }: DueDelivery,
  endpoints: readonly EndpointSettings[],
): number {
  // A delivery that was held back before is due later than it was accepted.
  if (rounds > 0 || dueAt > delivery.acceptedAt) return 0;
  return holdBack(
    delivery,
    endpoints.map(({ url }) => url),
  );
}

/** When the endpoint wants to be called again at the earliest (Retry-After), in milliseconds since 1970. */
function notBeforeOf({ retryAfter, date }: AttemptResult, now: number): number | undefined {
  const waitMs = parseRetryAfter(retryAfter, now, date);
  return waitMs === undefined ? undefined : now + waitMs;
}

function attemptOf(result: AttemptResult, round: number, endpoint: string, startedAt: number): Attempt {
  const { outcome, status, code, message, responseBody, fault } = result;
  const { requestHeaders, responseHeaders, cut } = result;
  const { buffer, byteOffset, length } = responseBody;
  const response = length === 0 ? "" : Buffer.from(buffer, byteOffset, length).toString();
  return {
    round,
    endpoint,
    startedAt,
    // Rounded here, so that counts, filters and pages have the same number.
    durationMs: roundedMs(result.durationMs),
    outcome,
    // The transport of an app may give null.
    status: status ?? undefined,
    code: code ?? undefined,
    message: message ?? undefined,
    response,
    fault: fault ?? undefined,
    requestHeaders: requestHeaders ?? undefined,
    responseHeaders: responseHeaders ?? undefined,
    cut,
  };
}
