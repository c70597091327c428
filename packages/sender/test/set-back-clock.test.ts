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

/** A store whose one delivery waits for its second attempt, in ten minutes. */
async function openWaiting() {
  const states: StoreState[] = [];
  const store = closing(sqliteStore());
  await store.open({ ...quietContext(systemClock()), stateChanged: (state) => void states.push(state) });
  let settled = 0;
  const handler: DeliveryHandler = {
    deliver: async (): Promise<Settlement> =>
      settled === 0
        ? { state: "pending", rounds: 1, dueAt: Date.now() + 10 * MINUTE, attempts: [], progress: {} }
        : { state: "delivered", endedAt: Date.now(), attempts: [] },
    settled: () => void (settled += 1),
    lost: () => {},
  };
  store.consume("shop/crm", 1, handler);
  await store.accept(acceptanceOf([{ id: "d1", destination: "shop/crm", acceptedAt: Date.now() }]));
  const settledTimes = (times: number) => vi.waitFor(() => expect(settled).toBe(times));
  await settledTimes(1);
  return { states, settledTimes };
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

    expect(states.at(-1)?.reason).toMatch(/^The clock of this machine was set back by 60 min\./);
    await vi.advanceTimersByTimeAsync(HOUR);
    await settledTimes(2);
    expect(states.at(-1)).toEqual({ state: "up" });
  });

  it("says nothing where it is corrected by less than a second, as NTP does", async () => {
    const { states, settledTimes } = await openWaiting();
    setClock(-900);

    await vi.advanceTimersByTimeAsync(11 * MINUTE);
    await settledTimes(2);

    expect(states.map(({ reason }) => reason)).toEqual(states.map(() => undefined));
  });
});
