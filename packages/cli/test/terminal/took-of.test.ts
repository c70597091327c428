import { expect, it } from "vitest";
import { tookOf } from "../../src/terminal/took-of.ts";

it.each([
  ["an answer in time", { status: 204, durationMs: 4 }, " in 4 ms", false],
  ["an answer that was nearly too late", { status: 500, durationMs: 4_210 }, " in 4.2 s of 5", true],
  ["no answer, which is not called slow", { status: undefined, durationMs: 5_000 }, ", after 5 s", false],
])("the time of %s", (_, attempt, text, isSlow) => {
  expect(tookOf(attempt, 5_000)).toEqual({ text, isSlow });
});
