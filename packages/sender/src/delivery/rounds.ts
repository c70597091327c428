import type {
  DeliveryInfo,
  DeliveryProgress,
  DueDelivery,
  EndpointProgress,
  Settlement,
} from "./delivery.ts";
import { type Attempt, REJECTIONS } from "./attempt.ts";
import { nextRetryAt, type RetryPolicy } from "./retry-policy.ts";

/** An attempt, and when its endpoint asked to be called again. */
export interface RoundAttempt {
  readonly attempt: Attempt;
  readonly notBefore?: number | undefined;
}

/** The source of the random number that spreads retries. */
interface SpreadSource {
  fork(label: string): { fraction(): number };
}

/** The result of a round. */
export interface Round {
  readonly due: DueDelivery;
  /** The destination's endpoints, by its current settings. */
  readonly endpoints: readonly { readonly url: string }[];
  /** The attempts of the round. */
  readonly tried: readonly RoundAttempt[];
  /** When it ended, in milliseconds since 1970. */
  readonly now: number;
  /** Spreads retries. */
  readonly random: SpreadSource;
}

const NO_PROGRESS: DeliveryProgress = Object.freeze({});

/** The first round of a delivery that was just stored: it is due at once, and nothing is known of its endpoints. */
export function firstRoundOf(
  { id, destination }: Pick<DeliveryInfo, "id" | "destination">,
  message: Omit<DeliveryInfo, "id" | "destination"> & Pick<DueDelivery, "body">,
): DueDelivery {
  const { messageId, type, source, identity, event, acceptedAt, body } = message;
  const delivery = { id, messageId, type, source, destination, identity, event, acceptedAt };
  return { delivery, rounds: 0, dueAt: acceptedAt, progress: NO_PROGRESS, body };
}

/** Whether the window of a delivery is over. The first attempt is never too late: it is not a retry. */
export function isOver(due: DueDelivery, now: number, policy: RetryPolicy): boolean {
  return due.rounds > 0 && now > due.delivery.acceptedAt + policy.windowMs;
}

/** Endpoints that a round calls: those that did not reject, and do not want to be called later. */
export function endpointsOfRound<T extends { readonly url: string }>(
  endpoints: readonly T[],
  progress: DeliveryProgress,
  now: number,
): readonly T[] {
  return endpoints.filter(({ url }) => {
    const { rejected, notBefore = 0 } = progress[url] ?? {};
    return rejected !== true && notBefore <= now;
  });
}

/** What is known of the endpoints of a delivery that is hastened: which rejected it, and no more when one wants to be called. */
export function hastenedProgress(progress: DeliveryProgress): DeliveryProgress {
  const known = Object.entries(progress).map(([url, { rejected }]) => [url, { rejected }] as const);
  return Object.fromEntries(known);
}

/**
 * The state of a delivery after a round (spec 4.1, 7): one success delivers it; it fails when
 * every endpoint has rejected; else those that may recover are tried again while the window lasts. Pure.
 */
export function settleRound(round: Round, policy: RetryPolicy): Settlement {
  const { due, endpoints, tried, now, random } = round;
  const attempts = tried.map(({ attempt }) => attempt);
  if (attempts.some(({ outcome }) => outcome === "success"))
    return { state: "delivered", endedAt: now, attempts };

  const progress = progressAfter(due, tried, policy);
  const recoverable = endpoints.filter(({ url }) => progress[url]?.rejected !== true);
  if (recoverable.length === 0) return { state: "failed", endedAt: now, attempts };

  const rounds = due.rounds + 1;
  // A stream of its own, so that the order in which endpoints answer does not change the run.
  const fraction = random.fork(`${due.delivery.id} ${due.rounds}`).fraction();
  const retries = recoverable.map(({ url }) =>
    nextRetryAt(
      {
        rounds,
        acceptedAt: due.delivery.acceptedAt,
        now,
        random: fraction,
        notBefore: progress[url]?.notBefore,
      },
      policy,
    ),
  );
  const dueAt = Math.min(...retries.map((at) => at ?? Number.POSITIVE_INFINITY));
  if (!Number.isFinite(dueAt)) return { state: "expired", endedAt: now, attempts };
  return { state: "pending", dueAt, rounds, progress, attempts };
}

/**
 * The state of a delivery whose round was broken off: it is due as before, and what was learnt is kept, so that an
 * endpoint that has rejected is not called again. Pure.
 */
export function interruptRound(
  due: DueDelivery,
  tried: readonly RoundAttempt[],
  policy: RetryPolicy,
): PendingSettlement {
  const { dueAt, rounds } = due;
  const attempts = tried.map(({ attempt }) => attempt);
  return { state: "pending", dueAt, rounds, progress: progressAfter(due, tried, policy), attempts };
}

/** A settlement of a delivery that has not ended. */
type PendingSettlement = Extract<Settlement, { readonly state: "pending" }>;

function progressAfter(
  due: DueDelivery,
  tried: readonly RoundAttempt[],
  policy: RetryPolicy,
): DeliveryProgress {
  const lastRetryAt = due.delivery.acceptedAt + policy.windowMs - policy.lastRetryMarginMs;
  const learnt = tried.map((one) => [one.attempt.endpoint, progressOf(one, lastRetryAt)] as const);
  return { ...due.progress, ...Object.fromEntries(learnt) };
}

function progressOf({ attempt, notBefore }: RoundAttempt, lastRetryAt: number): EndpointProgress {
  if (REJECTIONS.has(attempt.outcome)) return { rejected: true };
  // What asks for more than the window has left is called once more at its end.
  return notBefore === undefined ? {} : { notBefore: Math.min(notBefore, lastRetryAt) };
}
