import { join } from "node:path";
import { createSender, sqliteStore } from "@countersign/sender";
import { virtualClock } from "@countersign/sender/testing";
import { describe, expect, it } from "vitest";
import { openSender } from "./support/open-sender.ts";
import { startReceiver } from "./support/receiver.ts";
import { temporaryFolder } from "./support/temporary-folder.ts";

const HOUR = 3_600_000;

describe("four hours of retries", () => {
  it("an endpoint that answers 503 all along gets the printed schedule, then the delivery is expired", async () => {
    const receiver = await startReceiver(() => ({ status: 503 }));
    const clock = virtualClock();
    const start = clock.now();
    const sender = await openSender({ url: receiver.url, clock, seed: "four hours" });
    const receipt = await sender.track({ userId: "u1", event: "Signed Up" });
    await clock.advance("5h");

    const [delivery] = await receipt.settled();
    const minutes = delivery?.attempts.map(({ startedAt }) => ((startedAt - start) / 60_000).toFixed(1));
    expect(delivery?.state).toBe("expired");
    expect(minutes).toMatchInlineSnapshot(`
      [
        "0.0",
        "0.0",
        "0.2",
        "0.5",
        "0.8",
        "1.5",
        "3.7",
        "8.5",
        "14.1",
        "24.5",
        "33.6",
        "44.5",
        "54.0",
        "65.0",
        "79.0",
        "88.5",
        "101.9",
        "110.5",
        "119.2",
        "127.4",
        "137.3",
        "145.9",
        "154.9",
        "167.4",
        "179.3",
        "186.9",
        "196.8",
        "211.0",
        "219.2",
        "229.8",
        "238.0",
        "239.9",
      ]
    `);
    expect(receiver.received).toHaveLength(minutes?.length ?? 0);
    expect(new Set(receiver.received.map(({ body }) => body)).size).toBe(1);
    expect(Math.max(...(delivery?.attempts ?? []).map(({ startedAt }) => startedAt - start))).toBe(
      4 * HOUR - 5_000,
    );
    expect(delivery?.endedAt).toBe(start + 4 * HOUR - 5_000);
  });

  it("every field of the option retry changes the schedule", async () => {
    const receiver = await startReceiver(() => ({ status: 503 }));
    const clock = virtualClock();
    const start = clock.now();
    const sender = await openSender({
      url: receiver.url,
      clock,
      retry: {
        firstDelayMs: 1_000,
        maxDelayMs: 3_000,
        minJitter: 1,
        windowMs: 20_000,
        lastRetryMarginMs: 4_000,
      },
    });
    const receipt = await sender.track({ userId: "u1", event: "Signed Up" });
    await clock.advance("1m");
    const [delivery] = await receipt.settled();
    const seconds = delivery?.attempts.map(({ startedAt }) => (startedAt - start) / 1_000);
    expect(seconds).toEqual([0, 1, 3, 6, 9, 12, 15, 16]);
    expect(delivery?.state).toBe("expired");
  });

  it("an endpoint that recovers at 3 h 59 min gets the message once", async () => {
    const receiver = await startReceiver(() => ({
      status: clock.now() - start < 3 * HOUR + 59 * 60_000 ? 503 : 200,
    }));
    const clock = virtualClock();
    const start = clock.now();
    const sender = await openSender({ url: receiver.url, clock });
    const receipt = await sender.track({ userId: "u1", event: "Signed Up" });
    await clock.advance("3h");
    await clock.advance("59m");
    expect(await sender.deliveries({ state: "pending" })).toHaveLength(1);
    const before = receiver.received.length;
    await clock.advance("2h");

    const [delivery] = await receipt.settled();
    expect(delivery?.state).toBe("delivered");
    expect(receiver.received.length - before).toBe(1);
    expect(delivery?.attempts.filter(({ outcome }) => outcome === "success")).toHaveLength(1);
  });

  it("an endpoint that asks for more time than there is gets one retry, five seconds before the end", async () => {
    const headers = { "Retry-After": String(9 * 3_600) };
    const receiver = await startReceiver(() => ({ status: 503, headers }));
    const clock = virtualClock();
    const start = clock.now();
    const sender = await openSender({ url: receiver.url, clock });
    const receipt = await sender.track({ userId: "u1", event: "Signed Up" });
    await clock.advance("10h");
    const [delivery] = await receipt.settled();
    expect(delivery?.state).toBe("expired");
    expect(delivery?.attempts.map(({ startedAt }) => startedAt - start)).toEqual([0, 4 * HOUR - 5_000]);
  });

  it.each([
    ["that was not tried yet is sent: a message is never dropped without an attempt", 0, "delivered"],
    ["that failed once has expired: no receiver gets a retry after four hours", 1, "expired"],
  ] as const)("after five hours in which no sender ran, a delivery %s", async (_rule, tried, state) => {
    const path = join(temporaryFolder(), "deliveries.db");
    const receiver = await startReceiver(() => (tried === 0 ? "never" : { status: 503 }));
    const clock = virtualClock();
    const stopped = await createSender({ url: receiver.url, clock, store: sqliteStore({ path }) });
    const {
      deliveries: [id = ""],
    } = await stopped.track({ userId: "u1", event: "Signed Up" });
    await expect.poll(() => receiver.received.length).toBe(1);
    await expect.poll(async () => (await stopped.delivery(id))?.attempts.length).toBe(tried);
    await stopped.close({ deadline: 0 });

    const calls = receiver.received.length;
    receiver.answer = () => ({ status: 200 });
    const sender = await openSender({
      url: receiver.url,
      clock: virtualClock(clock.now() + 5 * HOUR),
      store: sqliteStore({ path }),
    });
    await sender.idle();
    expect((await sender.delivery(id))?.state).toBe(state);
    expect(receiver.received.length - calls).toBe(state === "delivered" ? 1 : 0);
  });

  it("two deliveries run at their own times, in order", async () => {
    const times: [string, number][] = [];
    const receiver = await startReceiver(({ message }) => {
      times.push([String(message["event"]), clock.now()]);
      return { status: 503 };
    });
    const clock = virtualClock();
    const sender = await openSender({ url: receiver.url, clock });
    await sender.track({ userId: "u1", event: "first" });
    await clock.advance("3s");
    await sender.track({ userId: "u1", event: "second" });
    await clock.advance("1h");
    expect(times.length).toBeGreaterThan(10);
    expect(times.map(([, at]) => at)).toEqual(times.map(([, at]) => at).toSorted((a, b) => a - b));
    const logged = (await sender.deliveries()).flatMap(({ attempts }) =>
      attempts.map(({ startedAt }) => startedAt),
    );
    expect(logged.toSorted((a, b) => a - b)).toEqual(times.map(([, at]) => at));
  });

  const start = virtualClock().now();

  it.each([
    ["in seconds", "1800", 30 * 60_000],
    ["as a date", new Date(start + 40 * 60_000).toUTCString(), 40 * 60_000],
    ["beyond the window", "86400", 4 * HOUR - 5_000],
    ["that makes no sense", "soon", 5_000],
    ["in the past", new Date(0).toUTCString(), 5_000],
  ])("Retry-After %s", async (_name, header, longest) => {
    const receiver = await startReceiver(() => ({
      status: 429,
      headers: { "Retry-After": header, Date: new Date(start).toUTCString() },
    }));
    const clock = virtualClock();
    const sender = await openSender({ url: receiver.url, clock });
    const retrying = new Promise<number>((resolve) => {
      sender.once("retrying", ({ delayMs }) => resolve(delayMs));
    });
    await sender.track({ userId: "u1", event: "Signed Up" });
    const delayMs = await retrying;
    expect(delayMs).toBeLessThanOrEqual(longest);
    expect(delayMs).toBeGreaterThanOrEqual(longest === 5_000 ? 2_500 : longest);
  });

  it("a Retry-After date is measured against the endpoint's own clock, which may be years off", async () => {
    const theirs = Date.UTC(2031, 4, 1);
    const headers = {
      "Retry-After": new Date(theirs + 40 * 60_000).toUTCString(),
      Date: new Date(theirs).toUTCString(),
    };
    const receiver = await startReceiver(() => ({ status: 503, headers }));
    const sender = await openSender({ url: receiver.url, clock: virtualClock() });
    const retrying = new Promise<number>((resolve) => {
      sender.once("retrying", ({ delayMs }) => resolve(delayMs));
    });
    await sender.track({ userId: "u1", event: "Signed Up" });
    expect(await retrying).toBe(40 * 60_000);
  });
});
