import { expect, it } from "vitest";
import { stolenSeconds, watchStolenCores } from "../src/harness/stolen-time.ts";

it("what the host took is the eighth count of the first line, in hundredths of a second", () => {
  expect(stolenSeconds("cpu  10 20 30 40 50 60 70 1250 0 0\ncpu0 1 2 3 4 5 6 7 8 0 0\n")).toBe(12.5);
});

it("a system that does not tell is no system that takes nothing", () => {
  expect(stolenSeconds("")).toBeUndefined();
  expect(watchStolenCores(() => undefined)()).toBeUndefined();
});

it("what the host took before does not count", () => {
  const counts = [100, 100];
  expect(watchStolenCores(() => counts.shift())()).toBe(0);
});
