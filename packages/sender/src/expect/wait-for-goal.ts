import { performance } from "node:perf_hooks";
import type { Clock } from "@countersign/protocol";
import type { DeliveryFilter } from "../delivery/delivery-filter.ts";
import type { Sender } from "../engine/sender.ts";
import type { SenderEvents } from "../engine/sender-events.ts";
import { replacedTurns } from "../target/replaced-turns.ts";
import type { AttemptsUnderWay } from "./attempts-under-way.ts";
import { watchChanges } from "./changes.ts";
import { type DeliveryReads, withMessage } from "./delivery-reads.ts";
import { describeFailure } from "./describe-failure.ts";
import {
  ExpectationError,
  isReceipt,
  type Searched,
  type ExpectedDelivery,
  type MessagePattern,
} from "./expect.ts";
import type { Goal } from "./goals.ts";
import type { InjectedFaults } from "./injected-faults.ts";
import { matches } from "./matches.ts";

/** What expectations are met by. */
export type ExpectSource = Pick<Sender, "deliveries" | "delivery" | "on" | "off">;

/** What a failure is explained by, besides the deliveries. */
export interface ExpectParts {
  readonly clock: Clock;
  readonly underWay: AttemptsUnderWay;
  readonly faults: InjectedFaults;
}

/** Which deliveries are meant, and for how long they are waited for. */
export interface Search extends ExpectParts {
  readonly source: ExpectSource;
  readonly reads: DeliveryReads;
  readonly what: Searched;
  readonly withinMs: number;
  readonly destination: string | undefined;
  /** The latest calls that lead to no delivery. */
  readonly skipped: readonly SenderEvents["skipped"][];
}

// The newest ones. They are read again with every change while an expectation waits.
const CONSIDERED = 1_000;
// What another process has done to the same store, and what is accepted, comes with no event.
const LOOK_AGAIN_MS = 20;

/**
 * Waits for the first delivery that reaches a goal.
 *
 * @param place Holds the stack that a failure is to be shown with.
 * @throws ExpectationError when none does in time, or none of a receipt's can any more.
 */
export async function waitForGoal<R>(search: Search, goal: Goal<R>, place: { stack?: string }): Promise<R> {
  const deadline = performance.now() + search.withinMs;
  const changes = watchChanges(search.source);
  try {
    for (;;) {
      const meant = await findMeant(search);
      for (const delivery of meant) {
        const reached = goal.reached(delivery);
        if (reached !== undefined) {
          return reached;
        }
      }
      const left = deadline - performance.now();
      const hopeless = isReceipt(search.what) && !meant.some(goal.open);
      if (hopeless || left <= 0) {
        throw await failure(search, goal, meant, { hopeless, place });
      }
      await changes.next(Math.min(left, LOOK_AGAIN_MS));
    }
  } finally {
    changes.stop();
  }
}

/** The deliveries that are meant, oldest first. */
async function findMeant({ source, reads, what, destination }: Search): Promise<readonly ExpectedDelivery[]> {
  if (isReceipt(what)) {
    const found = await Promise.all(what.deliveries.map((id) => source.delivery(id)));
    return found
      .filter((delivery) => delivery !== undefined)
      .filter((delivery) => destination === undefined || delivery.destination === destination)
      .map(withMessage);
  }
  const filter = { ...(typeof what === "function" ? {} : narrowing(what)), destination, limit: CONSIDERED };
  const listed = await reads.list(filter);
  return listed
    .filter(({ message }) => message !== undefined)
    .filter(({ message }) => (typeof what === "function" ? what(message) : matches(message, what)));
}

/** What the store can look up of a pattern. */
function narrowing({ type, event, messageId }: MessagePattern): DeliveryFilter {
  return {
    type,
    ...(typeof event === "string" ? { event } : {}),
    ...(typeof messageId === "string" ? { messageId } : {}),
  };
}

async function failure<R>(
  { source, clock, underWay, faults, what, withinMs, destination, skipped }: Search,
  goal: Goal<R>,
  meant: readonly ExpectedDelivery[],
  { hopeless, place }: { readonly hopeless: boolean; readonly place: { stack?: string } },
): Promise<ExpectationError> {
  const others = meant.length > 0 || isReceipt(what) ? [] : await source.deliveries({ limit: 5 });
  const message = describeFailure({
    what,
    destination,
    goal: goal.text,
    withinMs,
    hopeless,
    meant,
    others,
    skipped,
    clock,
    underWay,
    faults: faults.waiting(),
    replaced: await replacedTurns(),
  });
  const error = new ExpectationError(message, meant);
  error.stack = `${error.name}: ${message}\n${(place.stack ?? "").split("\n").slice(1).join("\n")}`;
  return error;
}
