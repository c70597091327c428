import { createServer } from "@countersign/server";
import { afterEach, beforeEach, expect, it, vi } from "vitest";
import { SECRET, startReceiver } from "../support/receiver.ts";
import { closing } from "../../../../tests/support/resources.ts";

beforeEach(() => void vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());

it("a server answers what it takes and what it rejects while a test's timers are faked", async () => {
  const receiver = closing(await startReceiver());
  const server = closing(await createServer({ to: receiver.url, secret: SECRET, port: 0 }));
  const post = async (batch: readonly object[]): Promise<number> => {
    const body = JSON.stringify({ writeKey: "any", batch });
    return (await fetch(`${server.url}/v1/batch`, { method: "POST", body })).status;
  };
  const call = { type: "track", event: "Ordered", userId: "u1" };
  expect(await post(Array.from({ length: 2_500 }, () => call))).toBe(200);
  expect(await post([{ ...call, userId: true }])).toBe(200);
});
