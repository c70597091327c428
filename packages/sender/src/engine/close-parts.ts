import { performance } from "node:perf_hooks";
import { clearImmediate, clearTimeout, setImmediate, setTimeout } from "node:timers";
import { isError, LONGEST_TIMER_MS } from "@countersign/protocol";
import type { DeliveryStore } from "../store/delivery-store.ts";
import type { Transport } from "../transport/transport.ts";
import { CloseError } from "./close-error.ts";
import type { Engine } from "./engine.ts";

/** The parts that a sender closes. */
interface ClosingParts {
  readonly engine: Engine;
  readonly transport: Transport;
  readonly store: DeliveryStore;
}

/** The part of the deadline that is kept for winding down, after the attempts were aborted. */
const WIND_DOWN_SHARE = 0.25;
const MIN_WIND_DOWN_MS = 100;
const MAX_WIND_DOWN_MS = 1_000;

/** How long a store has at least: it waits for its disk. */
const MIN_STORE_MS = 250;

/** Turns of the event loop that a part gets after its time is up: it takes some to close what is open. */
const LAST_TURNS = 20;

/**
 * Waits for attempts in progress, aborts those that take too long, and closes transport and store. The
 * deadline bounds all of it, if it is at least 100 ms. A part that hangs is abandoned.
 *
 * @throws Error when the transport or the store does not close; both were tried by then
 */
export async function closeParts(
  { engine, transport, store }: ClosingParts,
  deadlineMs: number,
): Promise<void> {
  const startedAt = performance.now();
  const wholeMs = Math.min(deadlineMs, LONGEST_TIMER_MS);
  const windDownMs = Math.min(Math.max(wholeMs * WIND_DOWN_SHARE, MIN_WIND_DOWN_MS), MAX_WIND_DOWN_MS);
  await engine.stop(Math.max(wholeMs - windDownMs, 0), windDownMs / 2);
  const left = (leastMs: number): number => Math.max(wholeMs - (performance.now() - startedAt), leastMs);
  // One after the other: a store that writes to a slow disk must not make the transport seem to hang.
  const problems = [
    await problemOf("transport", () => transport.close(), left(windDownMs / 2)),
    await problemOf("store", () => store.close(), left(MIN_STORE_MS)),
  ];
  for (const problem of problems) if (problem !== undefined) throw problem;
}

/** Why a part did not close; undefined when it did. */
async function problemOf(
  part: CloseError["part"],
  close: () => Promise<void>,
  ms: number,
): Promise<Error | undefined> {
  let timer: NodeJS.Timeout | undefined;
  let turn: NodeJS.Immediate | undefined;
  const hung = new Promise<Error>((resolve) => {
    const error = new CloseError(
      "ERR_CLOSE_LATE",
      part,
      "did not close by the deadline and was left behind.",
    );
    // A process that was kept waiting until now has not shown that the part hangs: it gets turns to close it.
    const wait = (turns: number): void => {
      turn = turns === 0 ? setImmediate(resolve, error) : setImmediate(wait, turns - 1);
    };
    timer = setTimeout(wait, ms, LAST_TURNS);
  });
  try {
    return await Promise.race([close().then(() => undefined), hung]);
  } catch (error) {
    return isError(error)
      ? error
      : new CloseError("ERR_CLOSE_FAILED", part, `failed: ${String(error)}`, error);
  } finally {
    clearTimeout(timer);
    clearImmediate(turn);
  }
}
