import type { AttemptOutcome, SenderEvents } from "@countersign/sender";
import { virtualClock } from "@countersign/sender/testing";
import { createServer } from "node:net";
import { once } from "node:events";
import type { AddressInfo } from "node:net";
import { describe, expect, expectTypeOf, onTestFinished, it } from "vitest";
import { openSender } from "./support/open-sender.ts";
import { startReceiver } from "./support/receiver.ts";

/** A port that nobody listens on. */
async function freePort(): Promise<number> {
  const server = createServer().listen(0, "127.0.0.1");
  await once(server, "listening");
  const { port } = server.address() as AddressInfo;
  server.close();
  await once(server, "close");
  return port;
}

describe("events", () => {
  it("each step of a delivery emits an event, in order, with what a listener needs", async () => {
    const answers = [503, 204];
    const receiver = await startReceiver(() => ({ status: answers.shift() ?? 500 }));
    const clock = virtualClock();
    const sender = await openSender({ url: receiver.url, clock });
    const told: string[] = [];
    sender
      .on("attempt", ({ attempt }) =>
        told.push(`attempt ${attempt.round} ${attempt.outcome} ${attempt.status}`),
      )
      .on("retrying", ({ dueAt, delayMs }) => told.push(`retrying ${dueAt - clock.now() === delayMs}`))
      .on("delivered", ({ delivery, attempts }) =>
        told.push(`delivered ${delivery.event} ${attempts.length}`),
      );
    const once = (): number => told.push("once");
    sender.once("attempt", once);
    const off = (): number => told.push("never");
    sender.on("delivered", off).off("delivered", off);
    await sender.track({ userId: "u1", event: "Signed Up" });
    await clock.advance("1m");
    expect(told).toEqual([
      "attempt 1 server_error 503",
      "once",
      "retrying true",
      "attempt 2 success 204",
      "delivered Signed Up 1",
    ]);
  });

  it("a delivery that is reported as ended is stored as ended", async () => {
    const receiver = await startReceiver(() => ({ status: 404 }));
    const sender = await openSender({ url: receiver.url });
    const states = new Promise((resolve) => {
      sender.on(
        "failed",
        ({ delivery }) => void sender.delivery(delivery.id).then((kept) => resolve(kept?.state)),
      );
    });
    await sender.track({ userId: "u1", event: "Signed Up" });
    expect(await states).toBe("failed");
  });

  it("a listener that throws is an uncaught exception, and the sender goes on", async () => {
    const receiver = await startReceiver();
    const sender = await openSender({ url: receiver.url });
    const listeners = process.listeners("uncaughtException");
    process.removeAllListeners("uncaughtException");
    onTestFinished(() => {
      process.removeAllListeners("uncaughtException");
      for (const listener of listeners) process.on("uncaughtException", listener);
    });
    const caught: unknown[] = [];
    process.on("uncaughtException", (error) => caught.push(error));
    const mistake = new Error("a listener's mistake");
    sender.on("attempt", () => {
      throw mistake;
    });
    const [delivery] = await (await sender.track({ userId: "u1", event: "Signed Up" })).settled();
    expect(delivery?.state).toBe("delivered");
    expect(caught).toEqual([mistake]);
  });

  it("an event that does not exist is a TypeError, and a type error", async () => {
    const sender = await openSender({ url: "http://127.0.0.1:9/" });
    // @ts-expect-error the name is misspelt
    expect(() => sender.on("deliverd", () => {})).toThrow(/delivered/);
    // @ts-expect-error a listener is a function
    expect(() => sender.on("delivered", "log")).toThrow(TypeError);
    expectTypeOf<SenderEvents["attempt"]["attempt"]["outcome"]>().toEqualTypeOf<AttemptOutcome>();
  });
});

describe("stats", () => {
  it("deliveries by state, attempts by outcome, response times against the budget", async () => {
    const receiver = await startReceiver(({ message }) => {
      const event = String(message["event"]);
      return event === "never" ? "never" : { status: Number(event) };
    });
    const closed = `http://127.0.0.1:${await freePort()}/`;
    const clock = virtualClock();
    const sender = await openSender({
      clock,
      attemptTimeout: "1s",
      sources: [
        { name: "shop", destinations: [{ endpoints: [{ url: receiver.url }] }] },
        {
          name: "app",
          destinations: [
            { name: "off", enabled: false, endpoints: [{ url: closed }] },
            { name: "on", endpoints: [{ url: closed }] },
          ],
        },
      ],
    });
    for (const event of ["200", "204", "404", "503", "never"])
      await sender.track({ userId: "u1", event }, { source: "shop" });
    await sender.track({ userId: "u1", event: "any" }, { source: "app" });
    await clock.advance(0);

    const stats = await sender.stats();
    expect(stats.sources).toEqual([
      { source: "shop", usage: 5 },
      { source: "app", usage: 1 },
    ]);
    expect(stats.destinations).toEqual([
      { destination: "shop/webhooks", enabled: true, pending: 2, delivered: 2, failed: 1, expired: 0 },
      { destination: "app/off", enabled: false, pending: 0, delivered: 0, failed: 0, expired: 0 },
      { destination: "app/on", enabled: true, pending: 1, delivered: 0, failed: 0, expired: 0 },
    ]);
    const [answering, silent] = stats.endpoints.toSorted((a, b) =>
      b.destination.localeCompare(a.destination),
    );
    expect(answering?.outcomes).toEqual({
      success: 2,
      server_error: 1,
      timeout: 1,
      network: 0,
      rejected: 1,
      tls: 0,
    });
    expect(silent?.outcomes).toEqual({
      success: 0,
      server_error: 0,
      timeout: 0,
      network: 1,
      rejected: 0,
      tls: 0,
    });
    const times = answering?.responseTimes;
    expect(times?.bounds).toEqual([5, 10, 25, 50, 100, 250, 500, 1_000]);
    expect(times).toMatchObject({ count: 4, overBudget: 1 });
    expect(times?.counts.reduce((sum, count) => sum + count, 0)).toBe(4);
    expect(silent?.responseTimes).toMatchObject({ count: 0, overBudget: 0 });
  });

  it("by default, the last bucket ends at five seconds (spec 8)", async () => {
    const receiver = await startReceiver();
    const sender = await openSender({ url: receiver.url });
    await (await sender.track({ userId: "u1", event: "e" })).settled();
    expect((await sender.stats()).endpoints[0]?.responseTimes.bounds.at(-1)).toBe(5_000);
  });
});
