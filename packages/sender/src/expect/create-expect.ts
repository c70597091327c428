import { parseDuration, checkOptionNames, type OptionNames } from "@countersign/protocol";
import { END_STATES } from "../delivery/delivery.ts";
import type { SenderEvents } from "../engine/sender-events.ts";
import {
  isReceipt,
  joinReceipts,
  type Expect,
  type Expectation,
  type Expected,
  type ExpectOptions,
  type ReceiptLike,
  type Searched,
} from "./expect.ts";
import { DeliveryReads } from "./delivery-reads.ts";
import { attemptsGoal, endGoal, messageGoal, type Goal } from "./goals.ts";
import { waitForGoal, type ExpectParts, type ExpectSource, type Search } from "./wait-for-goal.ts";

// Vitest and Jest give a test 5 s by default: theirs must not be up first, because their failure does not say why.
const DEFAULT_WITHIN = "4s";
const KEPT_SKIPS = 20;

const OPTION_NAMES: OptionNames<ExpectOptions> = {
  within: ["timeout timeoutms", 'in milliseconds, or text such as "5s"'],
  destination: true,
};

/** The `expect()` of a sender. Listens for skipped calls from now on, so that a failure can tell of them. */
export function createExpect(source: ExpectSource, known: ExpectParts): Expect {
  const skipped: SenderEvents["skipped"][] = [];
  source.on("skipped", (call) => {
    skipped.push(call);
    skipped.splice(0, skipped.length - KEPT_SKIPS);
  });
  const reads = new DeliveryReads(source);
  const expect = (given: Expected = {}, options: ExpectOptions = {}): Expectation => {
    const what = isReceipts(given) ? joinReceipts(given) : given;
    if (!isExpected(what)) {
      throw new TypeError(
        "sender.expect() takes an awaited receipt or several, fields of a message, or a function that accepts a message",
      );
    }
    checkOptionNames("sender.expect()", options, OPTION_NAMES);
    const withinMs = parseDuration(options.within ?? DEFAULT_WITHIN, "sender.expect({ within })");
    const { destination } = options;
    return expectation({ source, reads, ...known, what, withinMs, destination, skipped });
  };
  // What is searched for by its type has that type.
  return expect as Expect;
}

function expectation(search: Search): Expectation {
  const until = <R>(goal: Goal<R>, method: (...args: never) => unknown): Promise<R> => {
    // The place in the test that a failure belongs to: it is not on the stack any more by then.
    const place: { stack?: string } = {};
    Error.captureStackTrace(place, method);
    return waitForGoal(search, goal, place);
  };
  return {
    message: async function message() {
      const delivery = await until(messageGoal, message);
      return delivery.message;
    },
    attempts: async function attempts(expected) {
      return until(attemptsGoal(expected), attempts);
    },
    delivered: async function delivered() {
      return until(endGoal("be delivered", "delivered"), delivered);
    },
    failed: async function failed() {
      return until(endGoal("be rejected by every endpoint", "failed"), failed);
    },
    expired: async function expired() {
      return until(endGoal("expire", "expired"), expired);
    },
    ended: async function ended() {
      return until(endGoal("end", ...END_STATES), ended);
    },
  };
}

function isReceipts(what: Expected): what is readonly ReceiptLike[] {
  // An empty list means no delivery, and would be waited for in vain.
  if (!Array.isArray(what) || what.length === 0) return false;
  return what.every((one: unknown) => isExpected(one) && isReceipt(one as Searched));
}

/** Any other object would be taken for a pattern without fields, which every message fits: a promise, for one. */
function isExpected(what: unknown): boolean {
  if (typeof what !== "object" || what === null) {
    return typeof what === "function";
  }
  const prototype: unknown = Object.getPrototypeOf(what);
  return prototype === Object.prototype || prototype === null;
}
