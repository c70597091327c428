import type { Sender } from "@countersign/sender";
import { createServer } from "@countersign/server";
import { expect, it, onTestFinished, vi } from "vitest";
import { waitingWithoutSettings } from "../../src/live/readiness.ts";
import { send } from "../support/http.ts";
import { closing } from "../../../../tests/support/resources.ts";

const WAITS = { destination: "gone/hooks", pending: 1, delivered: 0, failed: 0, expired: 0 };

function store(): {
  sender: Pick<Sender, "settings" | "stats">;
  asked: () => number;
  fail: (error?: Error) => void;
} {
  let asked = 0;
  let failure: Error | undefined;
  const sender = {
    settings: { sources: [] },
    stats: async () => {
      asked += 1;
      if (failure) throw failure;
      return { destinations: [WAITS], endpoints: [] };
    },
  };
  return {
    sender: sender as unknown as Pick<Sender, "settings" | "stats">,
    asked: () => asked,
    fail: (error) => void (failure = error),
  };
}

it("the store is asked once in a second for all who ask for /readyz, since anyone may", async () => {
  vi.useFakeTimers({ toFake: ["performance"] });
  onTestFinished(() => void vi.useRealTimers());
  const { sender, asked } = store();
  const find = waitingWithoutSettings(sender);
  await Promise.all([find(), find()]);
  for (let n = 0; n < 100; n += 1) {
    vi.advanceTimersByTime(9);
    expect(await find()).toEqual([WAITS]);
  }
  expect(asked()).toBe(1);
  vi.advanceTimersByTime(100);
  await find();
  expect(asked()).toBe(2);
});

it("the store is asked again when the settings have changed, and after each failure", async () => {
  const { sender, asked, fail } = store();
  const find = waitingWithoutSettings(sender);
  await find();
  const destinations = [{ name: "hooks", endpoints: [{ url: "https://example.com/hooks" }] }];
  Object.assign(sender, { settings: { sources: [{ name: "gone", destinations }] } });
  expect(await find()).toEqual([]);
  fail(new Error("The disk failed."));
  Object.assign(sender, { settings: { sources: [] } });
  await expect(find()).rejects.toThrow("The disk failed.");
  await expect(find()).rejects.toThrow("The disk failed.");
  fail();
  expect(await find()).toEqual([WAITS]);
  expect(asked()).toBe(5);
});

it("/readyz asks the store far less often than it is asked", async () => {
  const server = closing(await createServer({ to: "http://127.0.0.1:9/", port: 0 }));
  const stats = vi.spyOn(server.sender, "stats");
  const started = performance.now();
  for (let n = 0; n < 50; n += 1) expect((await send(`${server.url}/readyz`)).status).toBe(200);
  expect(stats.mock.calls.length).toBeLessThanOrEqual(1 + (performance.now() - started) / 1_000);
});
