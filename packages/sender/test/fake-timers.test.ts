import { execFileSync } from "node:child_process";
import { once } from "node:events";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import { performance } from "node:perf_hooks";
import { createSender, sqliteStore } from "@countersign/sender";
import { createTestSender } from "@countersign/sender/testing";
import { afterEach, beforeEach, expect, it, onTestFinished, vi } from "vitest";
import { startReceiver } from "./support/receiver.ts";

const CALL = { userId: "u1", event: "Signed Up" };

beforeEach(() => void vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());

it("a sender with the machine's clock delivers while a test's timers are faked, and closes", async () => {
  const { url, received } = await startReceiver();
  const sender = await createSender({ url, store: sqliteStore() });
  const receipts = await Promise.all(Array.from({ length: 30 }, () => sender.track(CALL)));
  await Promise.all(receipts.map((receipt) => receipt.settled()));
  await sender.idle();
  expect(received).toHaveLength(30);
  await sender.close();
});

it("faked timers move its retries, as they move those of the app", async () => {
  const { url } = await startReceiver(() => ({ status: Date.now() < retriedAt ? 503 : 200 }));
  const retriedAt = Date.now() + 3_600_000;
  const sender = await createTestSender({ url });
  onTestFinished(() => sender.close({ deadline: 0 }));
  const receipt = await sender.track(CALL);
  await sender.expect(receipt).attempts([503]);
  while ((await sender.deliveries())[0]?.state === "pending") await vi.advanceTimersByTimeAsync(60_000);
  const [delivery] = await receipt.settled();
  expect(delivery).toMatchObject({ state: "delivered" });
  // Time goes on while a request is on its way.
  expect(delivery?.attempts.at(-1)?.startedAt).toBeGreaterThan(retriedAt - 1_800_000);
});

it("an expectation that nothing fulfils fails in time, and says how long an attempt has taken", async () => {
  const app = createServer(() => {}).listen(0, "127.0.0.1");
  onTestFinished(() => {
    app.closeAllConnections();
    app.close();
  });
  await once(app, "listening");
  const { port } = app.address() as AddressInfo;
  const sender = await createTestSender({ url: `http://127.0.0.1:${port}/` });
  onTestFinished(() => sender.close({ deadline: 0 }));
  const arrived = once(app, "request");
  await sender.track(CALL);
  await arrived;
  const startedAt = performance.now();
  await expect(sender.expect(CALL, { within: 200 }).delivered()).rejects.toThrow(/no response yet, [1-9]/u);
  expect(performance.now() - startedAt).toBeGreaterThanOrEqual(199);
});

it("an attempt without a response times out, and a deadline of close() is kept", async () => {
  const { url } = await startReceiver(() => "never");
  const sender = await createTestSender({ url, attemptTimeout: 100 });
  const receipt = await sender.track(CALL);
  const [attempt] = await sender.expect(receipt).attempts(["timeout"]);
  expect(attempt?.durationMs).toBeGreaterThanOrEqual(99);
  await sender.close({ deadline: 100 });
});

it("fake timers that replace what Node opens connections with, as those of Jest and Sinon do, are named, since all would wait for ever", () => {
  const script = join(import.meta.dirname, "support", "child-replaced-turns.mjs");
  const { created, expected } = JSON.parse(
    execFileSync(process.execPath, [script], { encoding: "utf8" }),
  ) as {
    created: string;
    expected: string;
  };
  const advice =
    'Fake timers have replaced process.nextTick and queueMicrotask, without which Node opens no connection. Keep both: jest.useFakeTimers({ doNotFake: ["nextTick", "queueMicrotask"] }), or toNotFake in Sinon and Vitest.';
  expect(created).toBe(`TypeError: createTestSender({ target }) cannot open a port. ${advice}`);
  expect(expected.split("\n").at(-1)).toBe(advice);
});
