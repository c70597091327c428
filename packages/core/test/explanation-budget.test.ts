import { createReceiver, sign } from "@countersign/core";
import { afterAll, afterEach, beforeEach, expect, it, vi } from "vitest";
import { SECRET, webhookRequest } from "./support/requests.ts";

const RETIRED = "the one before";

// The process has one budget, and only the time of the test refills it: each test is an hour after the one before.
let hours = 0;
beforeEach(() => {
  vi.useFakeTimers({ toFake: ["performance"] });
  hours += 1;
  vi.advanceTimersByTime(hours * 3_600_000);
});
afterEach(() => {
  vi.useRealTimers();
});
// The next file of this process finds the budget full, or nothing of its first forgeries would be explained.
afterAll(async () => {
  vi.useFakeTimers({ toFake: ["performance"] });
  vi.advanceTimersByTime((hours + 1) * 3_600_000);
  await explained(1, 280);
  vi.useRealTimers();
});

/** How many of so many forgeries of a size are explained, and the hint of the last. */
async function explained(count: number, bytes: number): Promise<{ explained: number; hint: string }> {
  let explained = 0;
  let hint = "";
  const receiver = createReceiver({
    secret: SECRET,
    retiredSecrets: [RETIRED],
    onRejected: (error, { diagnoses }) => {
      explained += diagnoses.length;
      hint = error.hint;
    },
  });
  const value = new TextEncoder().encode(`{"type":"track","event":"${"a".repeat(bytes - 27)}"}`);
  const headers = { "content-type": "application/json", "x-signature": sign(value, RETIRED) };
  for (let sent = 0; sent < count; sent += 1) {
    await receiver.receive(webhookRequest({ headers, body: { from: "raw", value } }));
  }
  return { explained, hint };
}

it("a flood of small forgeries is explained 256 times, and 64 times more in each second", async () => {
  expect(await explained(300, 280)).toEqual({
    explained: 256,
    hint: "Many requests are being rejected, so this one was not examined. See the hints of those before it.",
  });
  vi.advanceTimersByTime(1_000);
  expect((await explained(100, 280)).explained).toBe(64);
});

it("a flood of large forgeries is explained as often as their size allows", async () => {
  expect((await explained(10, 65_536)).explained).toBe(4);
  expect((await explained(1, 280)).explained).toBe(0);
});

it("a forgery that is too large to be explained takes nothing of what the others may cost", async () => {
  const { explained: none, hint } = await explained(10, 65_537);
  expect(none).toBe(0);
  expect(hint).toMatch(/^None of the usual causes/);
  expect((await explained(4, 65_536)).explained).toBe(4);
});
