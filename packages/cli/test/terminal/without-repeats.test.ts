import { expect, it } from "vitest";
import { withoutRepeats } from "../../src/terminal/without-repeats.ts";

it("a log does not grow with the calls that are refused in an outage: the same text comes once a minute", () => {
  const printed: string[] = [];
  const due: (() => void)[] = [];
  const clock = { setTimeout: (run: () => void) => ({ unref: () => due.push(run) }) };
  const complain = withoutRepeats((text) => printed.push(text), clock);
  const minute = (): void => due.splice(0).forEach((run) => run());
  for (let call = 0; call < 1_000; call += 1) complain("The database is away.");
  complain("Another cause.");
  expect(printed).toEqual(["The database is away.", "Another cause."]);
  minute();
  expect(printed.slice(2)).toEqual(["The database is away. (999 more in the last minute)"]);
  complain("The database is away.");
  minute();
  expect(printed.slice(3)).toEqual(["The database is away. (1 more in the last minute)"]);
  minute();
  expect(due).toEqual([]);
  complain("The database is away.");
  expect(printed.slice(4)).toEqual(["The database is away."]);
});

it("texts that always differ are printed, and not remembered without end", () => {
  const printed: string[] = [];
  let timers = 0;
  const clock = { setTimeout: () => ({ unref: () => (timers += 1) }) };
  const complain = withoutRepeats((text) => printed.push(text), clock);
  for (let call = 0; call < 1_000; call += 1) complain(`Cause ${call}`);
  expect([printed.length, timers]).toEqual([1_000, 100]);
});
