import { setMaxListeners } from "node:events";
import type { Clock } from "../clock/clock.ts";
import type { Attempt } from "../delivery/attempt.ts";
import { deliveryInfo } from "../delivery/delivery-info.ts";
import { parseRetryAfter } from "../delivery/retry-after.ts";
import type { RetryPolicy } from "../delivery/retry-policy.ts";
import {
  endpointsOfRound,
  interruptRound,
  isOver,
  type RoundAttempt,
  settleRound,
} from "../delivery/settle-round.ts";
import { applyFault, copiesOf, holdBackMs } from "../faults/apply-fault.ts";
import type { RandomSource } from "../random/random-source.ts";
import type { Destination, Source } from "../settings/parse-settings.ts";
import type { EndpointSettings } from "../settings/settings.ts";
import type { ResponseTimeRecorder } from "../stats/response-time-recorder.ts";
import type {
  Consumer,
  DeliveryHandler,
  DeliveryStore,
  DueDelivery,
  Settlement,
} from "../store/delivery-store.ts";
import type { AttemptRequest, AttemptResult, Transport } from "../transport/transport.ts";
import { buildRequest } from "./build-request.ts";
import type { EventHub } from "./event-hub.ts";
import type { FaultPlan } from "./fault-plan.ts";

/** What an engine is made of. */
export interface EngineParts {
  readonly store: DeliveryStore;
  readonly clock: Clock;
  readonly transport: Transport;
  readonly policy: RetryPolicy;
  /** How long an endpoint may take to respond, in milliseconds. */
  readonly timeoutMs: number;
  readonly random: RandomSource;
  readonly events: EventHub;
  readonly recorder: ResponseTimeRecorder;
  readonly faults: FaultPlan;
}

/** The code of an attempt that was given up by us. */
const abortedCode = "ERR_ABORTED";

/** A longer timer would fire at once. */
const longestTimerMs = 2 ** 31 - 1;

interface Serving {
  readonly concurrency: number;
  readonly consumer: Consumer;
}

/** Claims due deliveries of every enabled destination, attempts them, and says what becomes of them. */
export class Engine implements DeliveryHandler {
  readonly #parts: EngineParts;
  readonly #serving = new Map<string, Serving>();
  readonly #giveUp = new AbortController();
  readonly #leaving = new Map<string, Promise<void>>();
  #destinations: ReadonlyMap<string, Destination> = new Map();

  constructor(parts: EngineParts) {
    this.#parts = parts;
    // Every attempt under way listens.
    setMaxListeners(0, this.#giveUp.signal);
  }

  /** Serves the enabled destinations of these sources, and no others. */
  configure(sources: readonly Source[]): void {
    const destinations = sources.flatMap((source) => source.destinations);
    this.#destinations = new Map(destinations.map((destination) => [destination.key, destination]));
    for (const key of new Set([...this.#serving.keys(), ...this.#destinations.keys()])) this.#reconcile(key);
  }

  /** Claims no more, and resolves when nothing is under way. Attempts that take longer than that are given up. */
  async stop(deadlineMs: number): Promise<void> {
    const deadline = setTimeout(() => this.#giveUp.abort(), Math.min(deadlineMs, longestTimerMs));
    this.configure([]);
    await Promise.all(this.#leaving.values());
    clearTimeout(deadline);
    this.#giveUp.abort();
  }

  /** One round: every endpoint that has not refused, at the same time. */
  async deliver(due: DueDelivery): Promise<Settlement> {
    const { clock, policy, random } = this.#parts;
    const destination = this.#destinations.get(due.destination);
    // Its settings changed after it was claimed. It waits for the destination to come back.
    if (destination?.enabled !== true || this.#giveUp.signal.aborted) return interruptRound(due, [], policy);
    if (isOver(due, clock.now(), policy)) return { state: "expired", endedAt: clock.now(), attempts: [] };

    const called = endpointsOfRound(destination.endpoints, due.progress, clock.now());
    const heldBackMs = this.#holdBack(due, called);
    if (heldBackMs > 0) return { ...interruptRound(due, [], policy), dueAt: clock.now() + heldBackMs };
    const results = await Promise.all(called.map((endpoint) => this.#attempts(due, destination, endpoint)));
    const tried = results.flatMap((result) => result ?? []);
    const wasGivenUp = results.includes(undefined);
    const delivered = tried.some(({ attempt }) => attempt.outcome === "success");
    if (wasGivenUp && !delivered) return interruptRound(due, tried, policy);

    // An endpoint that was added meanwhile may take what the others have refused.
    const { endpoints } = this.#destinations.get(due.destination) ?? destination;
    const round = {
      due,
      endpoints: endpoints.map(({ url }) => url),
      tried,
      now: clock.now(),
      // A stream of its own, so that the order in which endpoints answer does not change the run.
      random: random.fork(`${due.id} ${due.rounds}`).fraction(),
    };
    return settleRound(round, policy);
  }

  settled(due: DueDelivery, settlement: Settlement): void {
    const { events, clock } = this.#parts;
    const delivery = deliveryInfo(due);
    const { attempts } = settlement;
    if (settlement.state !== "pending") {
      events.emit(settlement.state, { delivery, attempts });
    } else if (attempts.length > 0) {
      const { dueAt } = settlement;
      events.emit("retrying", { delivery, attempts, dueAt, delayMs: Math.max(dueAt - clock.now(), 0) });
    }
  }

  /** What one endpoint gets in a round: one POST, unless a fault wants more; undefined when we gave it up. */
  async #attempts(
    due: DueDelivery,
    destination: Destination,
    endpoint: EndpointSettings,
  ): Promise<readonly RoundAttempt[] | undefined> {
    const secret = destination.sharedSecret;
    const fault = this.#parts.faults.takeForAttempt(due, endpoint.url);
    const plain = buildRequest(due.body, endpoint, secret);
    const request = fault === undefined ? plain : applyFault(plain, fault, { secret });
    const tried: RoundAttempt[] = [];
    for (let copies = copiesOf(fault); copies > 0; copies -= 1) {
      const one = await this.#attempt(due, request);
      if (one === undefined) return undefined;
      tried.push(one);
    }
    return tried;
  }

  async #attempt(due: DueDelivery, request: AttemptRequest): Promise<RoundAttempt | undefined> {
    const { clock, transport, timeoutMs, events, recorder } = this.#parts;
    const startedAt = clock.now();
    const result = await transport.send(request, { timeoutMs, signal: this.#giveUp.signal });
    if (result.code === abortedCode) return undefined;
    recorder.record(due.destination, request.url, result);
    const { url: endpoint, fault } = request;
    const attempt = attemptOf(result, { round: due.rounds + 1, endpoint, startedAt, fault });
    events.emit("attempt", { delivery: deliveryInfo(due), attempt });
    return { attempt, notBefore: parseRetryAfter(result.retryAfter, clock.now()) };
  }

  /** How long the fault `reorder` holds this delivery back, so that others overtake it. */
  #holdBack(due: DueDelivery, called: readonly EndpointSettings[]): number {
    const { faults, random } = this.#parts;
    // Once: what was held back before is due later than it was accepted.
    if (due.rounds > 0 || due.dueAt > due.acceptedAt) return 0;
    const fault = faults.takeForDelivery(
      due,
      called.map(({ url }) => url),
    );
    return holdBackMs(fault, () => random.fork(`${due.id} held back`).fraction());
  }

  /** Starts or stops serving a destination, as the settings want it now. */
  #reconcile(key: string): void {
    const wanted = this.#destinations.get(key);
    const serving = this.#serving.get(key);
    const isWanted = wanted?.enabled === true;
    if (serving !== undefined && (!isWanted || wanted.concurrency !== serving.concurrency)) {
      this.#serving.delete(key);
      const left = serving.consumer.stop().then(() => {
        this.#leaving.delete(key);
        this.#reconcile(key);
      });
      this.#leaving.set(key, left);
    } else if (serving === undefined && isWanted && !this.#leaving.has(key)) {
      // Not before the last one has left, or what it still has under way would be claimed twice.
      const consumer = this.#parts.store.consume(key, wanted.concurrency, this);
      this.#serving.set(key, { concurrency: wanted.concurrency, consumer });
    }
  }
}

function attemptOf(
  result: AttemptResult,
  about: Pick<Attempt, "round" | "endpoint" | "startedAt" | "fault">,
): Attempt {
  const { durationMs, outcome, status, code, message, responseBody } = result;
  return {
    ...about,
    durationMs,
    outcome,
    status,
    code,
    message,
    response: Buffer.from(responseBody).toString(),
  };
}
