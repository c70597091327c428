import type { Clock } from "./clock.ts";
import { type Duration, parseDuration } from "./duration.ts";
import { TaskQueue } from "./task-queue.ts";
import { parseTimestamp } from "./timestamps.ts";

/** A clock that moves only when it is advanced. */
export interface VirtualClock extends Clock {
  /**
   * Moves the time forward. Every task that falls due on the way runs at its own time, in order, and the clock waits for the
   * work it starts before it moves on: the attempts of four hours take as long as the receiver takes to answer them.
   *
   * Do not await it in a handler that a sender with this clock is delivering to: the clock waits for the end of that attempt.
   *
   * @param duration - How far: milliseconds, or text such as `"4h"`. 0 lets work under way finish.
   * @throws TypeError if it is not a duration.
   */
  advance(duration: Duration): Promise<void>;
  /** When the next task is due, in milliseconds since 1970; `undefined` if there is none. */
  readonly nextAt: number | undefined;
  /** How many tasks are waiting. */
  readonly scheduled: number;
}

/** The last time that a Date can hold. */
const LATEST = 8.64e15;

/** A fixed start, 1 January 2026, so that a seeded run repeats to the byte. A call would stay in bundles without this clock. */
const DEFAULT_START = 1_767_225_600_000;

/**
 * Makes a clock for tests: four hours of retries in milliseconds.
 *
 * @param start - Where it starts: milliseconds since 1970, ISO 8601 (UTC without an offset) or a Date. Default: 1 January
 *   2026, midnight UTC.
 * @throws TypeError if `start` is not a time.
 * @example
 * ```ts
 * import { createSender } from "@countersign/sender";
 *
 * const clock = virtualClock();
 * const sender = await createSender({ url, clock });
 * await sender.track({ userId: "u1", event: "Signed Up" });
 * await clock.advance("4h");
 * ```
 */
export function virtualClock(start: number | string | Date = DEFAULT_START): VirtualClock {
  let now = parseStart(start);
  const queue = new TaskQueue();
  const work = new WorkUnderWay();
  let moves: Promise<void> = Promise.resolve();

  async function advanceTo(target: number): Promise<void> {
    if (target > LATEST) throw new TypeError("advance() would go past the last time that a Date can hold.");
    await work.ended();
    for (let at = queue.nextAt; at !== undefined && at <= target; at = queue.nextAt) {
      now = Math.max(now, at);
      queue.runDue(now);
      await work.ended();
    }
    now = Math.max(now, target);
  }

  return {
    now: () => now,
    schedule: (at, task) => queue.add(at, task),
    hold: () => work.begin(),
    advance(duration) {
      const ms = parseDuration(duration, "advance()");
      const move = (): Promise<void> => advanceTo(now + ms);
      // Twice: a move that failed must not keep later ones from happening.
      moves = moves.then(move, move);
      return moves;
    },
    get nextAt() {
      return queue.nextAt;
    },
    get scheduled() {
      return queue.size;
    },
  };
}

function parseStart(start: unknown): number {
  const time = typeof start === "number" && Math.abs(start) <= LATEST ? start : parseTimestamp(start);
  if (time !== undefined) return time;
  throw new TypeError(
    `virtualClock() starts at milliseconds since 1970, ISO 8601 text or a Date: ${JSON.stringify(start)} is not a time.`,
  );
}

/** Counts the work under way, and resolves when there is none. */
class WorkUnderWay {
  #count = 0;
  /** How often work has begun. */
  #begun = 0;
  #waiting: (() => void)[] = [];

  begin(): () => void {
    this.#count += 1;
    this.#begun += 1;
    let over = false;
    return () => {
      if (over) return;
      over = true;
      this.#count -= 1;
      if (this.#count > 0) return;
      for (const resume of this.#waiting.splice(0)) resume();
    };
  }

  /**
   * Resolves when nothing is under way, and code that waited for its end has had a turn to begin something else. Work that began and
   * ended within that turn may be followed by more, too.
   */
  async ended(): Promise<void> {
    let begun: number;
    do {
      if (this.#count > 0) await new Promise<void>((resolve) => this.#waiting.push(resolve));
      begun = this.#begun;
      await nextTurn();
    } while (this.#count > 0 || this.#begun > begun);
  }
}

/** Resolves when every promise that can settle by itself has settled. A pure call: a bundle without virtual clocks leaves it out. */
const nextTurn = /* @__PURE__ */ turnsOfRuntime();

/** By the runtime's own timers: fake timers, which stand still, replace the global ones after this file is loaded. */
function turnsOfRuntime(): () => Promise<void> {
  const { setImmediate, setTimeout } = globalThis as Pick<typeof globalThis, "setTimeout"> &
    Partial<Pick<typeof globalThis, "setImmediate">>;
  return () =>
    new Promise((resolve) => {
      // setTimeout takes a millisecond at least, and there may be thousands of turns.
      if (setImmediate) setImmediate(resolve);
      else setTimeout(resolve, 0);
    });
}
