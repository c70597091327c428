import { parseDuration, systemClock, virtualClock, type Duration } from "@countersign/protocol";
import fc from "fast-check";
import { execFile } from "node:child_process";
import { setImmediate as nextTurn } from "node:timers/promises";
import { promisify } from "node:util";
import { beforeEach, describe, expect, it, onTestFinished, vi } from "vitest";

const run = promisify(execFile);
const HOUR = 3_600_000;

describe("virtualClock", () => {
  it("runs tasks at their own time, in order, with those that they add", async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(fc.integer({ min: 0, max: 1_000 })), async (delays) => {
        const clock = virtualClock(0);
        const ran: number[] = [];
        for (const at of delays) {
          clock.schedule(at, () => {
            ran.push(clock.now());
            if (at < 500) clock.schedule(at + 500, () => ran.push(clock.now()));
          });
        }
        await clock.advance(1_000);
        const expected = delays.flatMap((at) => (at < 500 ? [at, at + 500] : [at]));
        expect(ran).toEqual(expected.toSorted((a, b) => a - b));
        expect(clock.now()).toBe(1_000);
      }),
      { numRuns: 30 },
    );
  });

  it("runs tasks of one time in the order they were scheduled", async () => {
    const clock = virtualClock(0);
    const ran: string[] = [];
    for (const name of ["first", "second", "third"]) clock.schedule(5, () => ran.push(name));
    await clock.advance(5);
    expect(ran).toEqual(["first", "second", "third"]);
  });

  it("does not run a task that was cancelled, and says what is left", async () => {
    const clock = virtualClock(0);
    const ran: string[] = [];
    const first = clock.schedule(1, () => ran.push("first"));
    clock.schedule(2, () => ran.push("second"));
    first.cancel();
    first.cancel();
    expect([clock.scheduled, clock.nextAt]).toEqual([1, 2]);
    await clock.advance(2);
    expect(ran).toEqual(["second"]);
    expect([clock.scheduled, clock.nextAt]).toEqual([0, undefined]);
  });

  it("waits for work that is under way although other work says twice that it has ended", async () => {
    const clock = virtualClock(0);
    const [end, endOther] = [clock.hold(), clock.hold()];
    end();
    end();
    let isOver = false;
    const advanced = clock.advance(1).then(() => (isOver = true));
    for (let turn = 0; turn < 5; turn += 1) await nextTurn();
    expect(isOver).toBe(false);
    endOther();
    await advanced;
  });

  it("does not move on while work of this instant is under way", async () => {
    const clock = virtualClock(0);
    const ran: number[] = [];
    clock.schedule(5, () => ran.push(clock.now()));
    const release = clock.hold();
    const advanced = clock.advance(10);
    await new Promise((resolve) => setImmediate(resolve));
    expect([ran, clock.now()]).toEqual([[], 0]);
    release();
    release();
    await advanced;
    expect([ran, clock.now()]).toEqual([[5], 10]);
  });

  it("does not move on between work that ends within a turn and what follows it in the next", async () => {
    const clock = virtualClock();
    const release = clock.hold();
    let hasFollowed = false;
    const follow = (): void => {
      const end = clock.hold();
      setImmediate(() => {
        hasFollowed = true;
        end();
      });
    };
    // Both in the turn in which the clock begins to wait for one more.
    setImmediate(release);
    setImmediate(() => {
      clock.hold()();
      setImmediate(follow);
    });
    await clock.advance("1m");
    expect(hasFollowed).toBe(true);
  });

  it("makes two moves at once one after the other", async () => {
    const clock = virtualClock(0);
    await Promise.all([clock.advance("1s"), clock.advance("2s")]);
    expect(clock.now()).toBe(3_000);
  });

  it("does not move past the last time of a Date, and can move on after", async () => {
    const clock = virtualClock();
    const before = clock.now();
    await expect(clock.advance("100000000d")).rejects.toThrow(TypeError);
    await clock.advance(1);
    expect(clock.now()).toBe(before + 1);
  });

  it("moves also while the timers of a test runner are faked and stand still", async () => {
    vi.useFakeTimers();
    onTestFinished(() => void vi.useRealTimers());
    const clock = virtualClock(0);
    const task = vi.fn<() => void>();
    clock.schedule(HOUR, task);
    await clock.advance("4h");
    expect(task).toHaveBeenCalledOnce();
  });

  it("starts where it is told, in UTC", () => {
    const time = "2024-05-06T07:08:09.010Z";
    const starts = [time, time.slice(0, -1), new Date(time), Date.parse(time)].map((start) =>
      virtualClock(start),
    );
    expect(starts.map((clock) => new Date(clock.now()).toISOString())).toEqual([time, time, time, time]);
    for (const start of ["soon", Number.NaN, new Date(Number.NaN)]) {
      expect(() => virtualClock(start)).toThrow(/is not a time/);
    }
  });
});

describe("parseDuration", () => {
  it.each<[Duration, number]>([
    [250, 250],
    [0, 0],
    ["250ms", 250],
    ["1.5s", 1_500],
    ["10m", 600_000],
    ["4h", 14_400_000],
    ["7d", 604_800_000],
    [0.4, 0],
    ["1.5ms", 2],
  ])("reads %j", (duration, ms) => {
    expect(parseDuration(duration, "f()")).toBe(ms);
  });

  it("rejects what is not a duration, at run time and in types", () => {
    expect(() => parseDuration(-1, "f({ wait })")).toThrow(/^f\(\{ wait \}\) must be milliseconds or text/);
    expect(() => parseDuration(Number.NaN, "f()")).toThrow(/not NaN/);
    // @ts-expect-error no unit
    expect(() => parseDuration("4", "f()")).toThrow(/"4h"/);
    // @ts-expect-error no such unit
    expect(() => parseDuration("4 hours", "f()")).toThrow(TypeError);
    expect(() => parseDuration(null as never, "f()")).toThrow(TypeError);
  });
});

describe("systemClock", () => {
  it("runs a task when it is due, and the later one after it", async () => {
    const clock = systemClock();
    const ran: string[] = [];
    const start = clock.now();
    clock.schedule(start, () => ran.push("now"));
    clock.schedule(start, () => ran.push("cancelled")).cancel();
    // The last one: where the process is held up here for longer, each of them is due.
    const ranAt = await new Promise<number>((resolve) => {
      clock.schedule(start + 200, () => {
        ran.push("later");
        resolve(clock.now());
      });
    });
    expect(ran).toEqual(["now", "later"]);
    expect(ranAt).toBeGreaterThanOrEqual(start + 200);
  });

  it("runs the other tasks when one throws", async () => {
    const program = `
      import { systemClock } from "@countersign/protocol";
      const clock = systemClock();
      process.on("uncaughtException", (error) => console.log(error.message));
      clock.schedule(0, () => { throw new Error("thrown"); });
      clock.schedule(1, () => console.log("still running"));
    `;
    const { stdout } = await run(process.execPath, ["--input-type=module", "-e", program], {
      cwd: import.meta.dirname,
    });
    expect(stdout).toBe("thrown\nstill running\n");
  });

  it("keeps the process running until a task is due, unless told otherwise", async () => {
    const outputs = await Promise.all(
      // Who waits for an hour does not end before the test fails.
      [[true, 50] as const, [false, HOUR] as const].map(async ([keepAlive, delay]) => {
        const program = `
          import { systemClock } from "@countersign/protocol";
          const clock = systemClock({ keepAlive: ${keepAlive} });
          clock.schedule(clock.now() + ${delay}, () => console.log("ran"));
        `;
        const { stdout } = await run(process.execPath, ["--input-type=module", "-e", program], {
          cwd: import.meta.dirname,
        });
        return stdout;
      }),
    );
    expect(outputs).toEqual(["ran\n", ""]);
  });
});

describe("systemClock, when the machine's clock is set", () => {
  const setClock = (change: number): void => void vi.setSystemTime(Date.now() + change);

  beforeEach(() => {
    // Setting the faked Date leaves the faked timers and performance.now() alone, as setting a machine's clock does.
    vi.useFakeTimers({ toFake: ["Date", "performance", "setTimeout", "clearTimeout"] });
    onTestFinished(() => void vi.useRealTimers());
  });

  it.each([-HOUR, -30 * 24 * HOUR, -2_000])(
    "back by %d ms, a timeout does not wait that much longer",
    (change) => {
      const clock = systemClock();
      const task = vi.fn<() => void>();
      clock.schedule(clock.now() + 10_000, task);
      vi.advanceTimersByTime(4_000);
      setClock(change);
      vi.advanceTimersByTime(5_999);
      expect(task).not.toHaveBeenCalled();
      vi.advanceTimersByTime(1);
      expect(task).toHaveBeenCalledOnce();
    },
  );

  it("back, tasks scheduled before and after it each wait for their own time", () => {
    const clock = systemClock();
    const ran: string[] = [];
    const schedule = (name: string, after: number) =>
      clock.schedule(clock.now() + after, () => ran.push(`${name} at ${performance.now() - start}`));
    const start = performance.now();
    schedule("first", 20_000);
    schedule("second", 100_000);
    setClock(-HOUR);
    schedule("third", 10_000);
    setClock(-HOUR);
    schedule("fourth", 200_000);
    vi.advanceTimersByTime(300_000);
    expect(ran).toEqual(["third at 10000", "first at 20000", "second at 100000", "fourth at 200000"]);
  });

  it("back, work that is due at a time by the clock is not done early, and is woken once in vain", () => {
    const clock = systemClock();
    const due = clock.now() + 10_000;
    let wakes = 0;
    const doneAt: number[] = [];
    const wake = (): void => {
      wakes += 1;
      if (clock.now() >= due) doneAt.push(clock.now());
      else clock.schedule(due, wake);
    };
    clock.schedule(due, wake);
    setClock(-HOUR);
    vi.advanceTimersByTime(2 * HOUR);
    expect({ wakes, doneAt }).toEqual({ wakes: 2, doneAt: [due] });
  });

  it.each([20, 500, 10_000])(
    "to stand still, what waits %d ms runs all the same, a second later at most",
    (wait) => {
      const clock = systemClock();
      const task = vi.fn<() => void>();
      const frozenAt = Date.now();
      vi.spyOn(Date, "now").mockReturnValue(frozenAt);
      onTestFinished(() => void vi.restoreAllMocks());
      clock.schedule(frozenAt + wait, task);
      vi.advanceTimersByTime(wait + 1_000);
      expect(task).toHaveBeenCalledOnce();
    },
  );

  it("forward, or after the machine slept, what became due is noticed within a minute", () => {
    const clock = systemClock();
    const task = vi.fn<() => void>();
    clock.schedule(clock.now() + HOUR, task);
    vi.advanceTimersByTime(1_000);
    setClock(HOUR);
    vi.advanceTimersByTime(60_000);
    expect(task).toHaveBeenCalledOnce();
  });
});
