import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { Gate } from "../src/database/gate.ts";

describe("a gate with one place", () => {
  let gate: Gate;
  /** Ends what has passed, the first one first. */
  let passed: { readonly succeed: () => void; readonly fail: () => void }[];

  beforeEach(() => {
    vi.useFakeTimers();
    gate = new Gate(1);
    passed = [];
  });
  afterEach(() => void vi.useRealTimers());

  /** What becomes of a command that has to pass. */
  function command(since?: number): { state: string } {
    const told = { state: "waits" };
    const action = (): Promise<void> => {
      told.state = "has passed";
      return new Promise((resolve, reject) => {
        passed.push({ succeed: () => resolve(), fail: () => reject(new Error("no answer within 5 s")) });
      });
    };
    gate.pass(action, since).then(
      () => (told.state = "done"),
      (error: Error) => (told.state = error.message),
    );
    return told;
  }

  it("refuses all that have waited for 5 s while nothing succeeds, and not one after another", async () => {
    const first = command();
    const others = Array.from({ length: 100 }, () => command());
    await vi.advanceTimersByTimeAsync(2_000);
    const late = command();
    await vi.advanceTimersByTimeAsync(2_999);
    expect(others.map(({ state }) => state)).toEqual(Array(100).fill("waits"));
    passed[0]?.fail();
    await vi.advanceTimersByTimeAsync(1);
    expect(first.state).toBe("no answer within 5 s");
    // The one whose turn it was.
    expect(others.filter(({ state }) => state === "has passed")).toHaveLength(1);
    expect(others.filter(({ state }) => state.startsWith("The database does not answer"))).toHaveLength(99);
    expect(late.state).toBe("waits");
    await vi.advanceTimersByTimeAsync(2_000);
    expect(late.state).toMatch(/^The database does not answer/);
    expect(vi.getTimerCount()).toBe(0);
  });

  it("gives one that passes late the rest of its time, and all of it after a success", async () => {
    const untils: number[] = [];
    const start = performance.now();
    const tell = (until: number): Promise<void> => Promise.resolve(void untils.push(until - start));
    command();
    await vi.advanceTimersByTimeAsync(1_000);
    const late = gate.pass(tell);
    await vi.advanceTimersByTimeAsync(4_000);
    passed[0]?.fail();
    await late;
    await vi.advanceTimersByTimeAsync(3_000);
    await gate.pass(tell, start);
    expect(untils).toEqual([6_000, 10_000]);
  });

  it("refuses by the time since when each has waited, elsewhere too, and not in their order here", async () => {
    command();
    const start = performance.now();
    await vi.advanceTimersByTimeAsync(1_000);
    const [first, second] = [command(), command(start)];
    await vi.advanceTimersByTimeAsync(4_000);
    expect([first.state, second.state]).toEqual(["waits", expect.stringMatching(/^The database does not/)]);
    await vi.advanceTimersByTimeAsync(1_000);
    expect(first.state).toMatch(/^The database does not answer/);
    passed[0]?.fail();
    await vi.advanceTimersByTimeAsync(0);
    expect(command(start).state).toBe("waits");
    await vi.advanceTimersByTimeAsync(0);
    // It did not pass.
    expect(passed).toHaveLength(1);
  });

  it("refuses nothing while commands succeed, however many wait", async () => {
    const commands = Array.from({ length: 20 }, () => command());
    for (let count = 0; count < 20; count += 1) {
      await vi.advanceTimersByTimeAsync(4_000);
      passed[count]?.succeed();
      await vi.advanceTimersByTimeAsync(0);
    }
    expect(commands.map(({ state }) => state)).toEqual(Array(20).fill("done"));
    expect(vi.getTimerCount()).toBe(0);
  });

  it("refuses nothing while a long transaction gets on", async () => {
    const [transaction, other] = [command(), command()];
    for (let count = 0; count < 5; count += 1) {
      await vi.advanceTimersByTimeAsync(4_000);
      gate.succeeded();
    }
    expect([transaction.state, other.state]).toEqual(["has passed", "waits"]);
  });

  it("is free again after a command that failed", async () => {
    command();
    passed[0]?.fail();
    await vi.advanceTimersByTimeAsync(0);
    const next = command();
    expect(next.state).toBe("has passed");
  });
});
