import { setImmediate as nextTurn } from "node:timers/promises";
import type { Clock } from "./clock.ts";
import { type Duration, parseDuration } from "./duration.ts";
import { TaskQueue } from "./task-queue.ts";

/** A clock that stands still until it is told to move on. */
export interface VirtualClock extends Clock {
  /**
   * Moves on by a duration. Whatever falls due on the way runs at its own time, in order, and has ended before the
   * clock moves on from there: the attempts of four hours take as long as the receiver takes to answer them.
   */
  advance(duration: Duration): Promise<void>;
}

/** The last time that a Date can hold. */
const latest = 8.64e15;

/** Where a virtual clock starts, so that a seeded run repeats to the byte: 1 January 2026, midnight UTC. */
const defaultStart = Date.UTC(2026, 0, 1);

/**
 * Time under your control: four hours of retries in milliseconds.
 *
 * @param start Where it starts: milliseconds since 1970, ISO 8601 or a Date. Default: 1 January 2026, UTC.
 * @throws TypeError when `start` is not a time
 * @example
 * ```ts
 * const clock = virtualClock();
 * const sender = await createSender({ url, clock });
 * await sender.track({ userId: "u1", event: "Signed Up" });
 * await clock.advance("4h");
 * ```
 */
export function virtualClock(start: number | string | Date = defaultStart): VirtualClock {
  let now = parseStart(start);
  const queue = new TaskQueue(() => {});
  const work = new WorkUnderWay();
  let moves: Promise<void> = Promise.resolve();

  async function advanceTo(target: number): Promise<void> {
    if (target > latest) throw new TypeError("advance() would lead past the last time that a Date can hold.");
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
      // The second function: one move that failed must not keep later ones from happening.
      const move = (): Promise<void> => advanceTo(now + ms);
      moves = moves.then(move, move);
      return moves;
    },
  };
}

function parseStart(start: unknown): number {
  const isKind = typeof start === "number" || typeof start === "string" || start instanceof Date;
  const time = isKind ? new Date(start).getTime() : Number.NaN;
  if (!Number.isNaN(time)) return time;
  throw new TypeError(
    `virtualClock() takes the time it starts at, as milliseconds since 1970, ISO 8601 text or a Date: ${JSON.stringify(start)} is not a time.`,
  );
}

/** Counts what is under way, and tells when nothing is. */
class WorkUnderWay {
  #count = 0;
  #waiting: (() => void)[] = [];

  begin(): () => void {
    this.#count += 1;
    let over = false;
    return () => {
      if (over) return;
      over = true;
      this.#count -= 1;
      if (this.#count > 0) return;
      for (const resume of this.#waiting.splice(0)) resume();
    };
  }

  /** Resolves when nothing is under way, and code that waited for its end has had a turn to begin something else. */
  async ended(): Promise<void> {
    do {
      if (this.#count > 0) await new Promise<void>((resolve) => this.#waiting.push(resolve));
      await nextTurn();
    } while (this.#count > 0);
  }
}
