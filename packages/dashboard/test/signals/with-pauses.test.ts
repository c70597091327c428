import { describe, expect, it, onTestFinished, vi } from "vitest";
import { inTurn, pause, withPauses } from "../../src/signals/with-pauses.ts";

function stopTime(): (ms: number) => Promise<unknown> {
  vi.useFakeTimers();
  onTestFinished(() => void vi.useRealTimers());
  return (ms) => vi.advanceTimersByTimeAsync(ms);
}

describe("withPauses", () => {
  it("runs at once, then once for all calls of a pause", async () => {
    const advance = stopTime();
    let runs = 0;
    const run = withPauses(() => {
      runs += 1;
      return 100;
    });
    run();
    expect(runs).toBe(1);
    run();
    run();
    await advance(99);
    expect(runs).toBe(1);
    await advance(1);
    expect(runs).toBe(2);
    await advance(1_000);
    expect(runs).toBe(2);
    run();
    expect(runs).toBe(3);
  });
});

describe("withPauses, with an action that fails", () => {
  it("runs again for the next call, since the page would follow nothing any more", async () => {
    const unhandled: unknown[] = [];
    const keep = (error: unknown): unknown => unhandled.push(error);
    process.on("unhandledRejection", keep);
    onTestFinished(() => void process.off("unhandledRejection", keep));
    let runs = 0;
    const run = withPauses(() => {
      runs += 1;
      throw new Error("refused");
    });
    run();
    await vi.waitFor(() => expect(unhandled).toHaveLength(1));
    run();
    await vi.waitFor(() => expect(unhandled).toHaveLength(2));
    expect(runs).toBe(2);
  });
});

describe("inTurn", () => {
  it("reads once for many calls, and rests in proportion to what it took, since a large answer was asked for all the time", async () => {
    const advance = stopTime();
    let [begun, ended] = [0, 0];
    const readSoon = inTurn(async () => {
      begun += 1;
      await pause(300);
      ended += 1;
      throw new Error("what cannot be read is read again as well");
    }, 10);
    for (let call = 0; call < 1_000; call += 1) readSoon();
    await advance(10);
    expect(begun).toBe(1);
    for (let call = 0; call < 1_000; call += 1) readSoon();
    await advance(300 + 1_200);
    expect([begun, ended]).toEqual([1, 1]);
    await advance(10);
    expect(begun).toBe(2);
    await advance(10_000);
    expect([begun, ended]).toEqual([2, 2]);
  });
});
