import { parseDuration, systemClock, virtualClock, type Duration } from "@countersign/protocol";
import fc from "fast-check";
import { execFile } from "node:child_process";
import { promisify } from "node:util";
import { describe, expect, it } from "vitest";

const run = promisify(execFile);

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
    await new Promise<void>((resolve) => {
      clock.schedule(clock.now() + 2, () => {
        ran.push("later");
        resolve();
      });
      clock.schedule(clock.now(), () => ran.push("now"));
      clock.schedule(clock.now(), () => ran.push("cancelled")).cancel();
    });
    expect(ran).toEqual(["now", "later"]);
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
      [true, false].map(async (keepAlive) => {
        const program = `
          import { systemClock } from "@countersign/protocol";
          const clock = systemClock({ keepAlive: ${keepAlive} });
          clock.schedule(clock.now() + 50, () => console.log("ran"));
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
