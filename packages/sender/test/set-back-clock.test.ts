import { systemClock } from "@countersign/protocol";
import { sqliteStore } from "@countersign/sender";
import type { DeliveryHandler, Settlement, StoreState } from "@countersign/sender/store";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { closing } from "../../../tests/support/resources.ts";
import { acceptanceOf, quietContext } from "./support/acceptances.ts";

const [MINUTE, HOUR] = [60_000, 3_600_000];

// Only the clock is faked: what writes takes its turns from `node:timers`.
beforeEach(() => void vi.useFakeTimers({ toFake: ["Date", "performance", "setTimeout", "clearTimeout"] }));
afterEach(() => void vi.useRealTimers());

const setClock = (change: number): void => void vi.setSystemTime(Date.now() + change);

/** A store with a destination for each of these times, whose delivery waits for its second attempt until then. */
async function openWaiting(...inMs: readonly number[]) {
  const states: StoreState[] = [];
  const store = closing(sqliteStore());
  await store.open({ ...quietContext(systemClock()), stateChanged: (state) => void states.push(state) });
  let settled = 0;
  for (const [index, ms] of (inMs.length === 0 ? [10 * MINUTE] : inMs).entries()) {
    const [id, destination] = [`d${index}`, `shop/crm${index}`];
    const handler: DeliveryHandler = {
      deliver: async ({ rounds }): Promise<Settlement> =>
        rounds === 0
          ? { state: "pending", rounds: 1, dueAt: Date.now() + ms, attempts: [], progress: {} }
          : { state: "delivered", endedAt: Date.now(), attempts: [] },
      settled: () => void (settled += 1),
      lost: () => {},
    };
    store.consume(destination, 1, handler);
    await store.accept(acceptanceOf([{ id, destination, acceptedAt: Date.now() }]));
  }
  const settledTimes = (times: number) => vi.waitFor(() => expect(settled).toBe(times));
  await settledTimes(Math.max(inMs.length, 1));
  return { store, states, settledTimes };
}

describe("a store in a file, on a machine whose clock is set back", () => {
  it("says that what waits is late, until the clock has caught up", async () => {
    const { states, settledTimes } = await openWaiting();
    setClock(-5 * HOUR);

    await vi.advanceTimersByTimeAsync(10 * MINUTE);

    expect(states.at(-1)).toMatchObject({
      state: "up",
      reason: expect.stringMatching(
        /^The clock of this machine was set back by 5 h\. Deliveries that wait are late by as much\. .* retry them/,
      ),
    });
    await vi.advanceTimersByTimeAsync(5 * HOUR);
    await settledTimes(2);
    expect(states.at(-1)).toEqual({ state: "up" });
  });

  it("says so again when it is set back once more", async () => {
    const { states, settledTimes } = await openWaiting();
    setClock(-5 * HOUR);
    await vi.advanceTimersByTimeAsync(10 * MINUTE);
    setClock(-HOUR);

    await vi.advanceTimersByTimeAsync(5 * HOUR);

    expect(states.map(({ reason }) => reason?.slice(0, 52))).toEqual([
      undefined,
      "The clock of this machine was set back by 5 h. Deliv",
      "The clock of this machine was set back by 60 min. De",
    ]);
    await vi.advanceTimersByTimeAsync(HOUR);
    await settledTimes(2);
    expect(states.at(-1)).toEqual({ state: "up" });
  });

  it("says so once of all that waits until the same time, and until the last of it is due", async () => {
    const { states, settledTimes } = await openWaiting(10 * MINUTE, 10 * MINUTE, 20 * MINUTE);
    setClock(-5 * HOUR);
    await vi.advanceTimersByTimeAsync(15 * MINUTE);
    expect(states).toHaveLength(2);

    await vi.advanceTimersByTimeAsync(5 * HOUR);
    await settledTimes(5);
    expect(states.at(-1)?.reason).toMatch(/set back by 5 h\./);
    await vi.advanceTimersByTimeAsync(5 * MINUTE);
    await settledTimes(6);
    expect(states.at(-1)).toEqual({ state: "up" });
  });

  it("does not wait for that once it is closed, which would keep the process running for hours", async () => {
    const { store, states } = await openWaiting();
    setClock(-5 * HOUR);
    await vi.advanceTimersByTimeAsync(10 * MINUTE);
    expect(states).toHaveLength(2);

    await store.close();
    expect(vi.getTimerCount()).toBe(0);
  });

  it("says nothing where it is corrected by less than a second, as NTP does", async () => {
    const { states, settledTimes } = await openWaiting();
    setClock(-900);

    await vi.advanceTimersByTimeAsync(11 * MINUTE);
    await settledTimes(2);

    expect(states.map(({ reason }) => reason)).toEqual(states.map(() => undefined));
  });
});
