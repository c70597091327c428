import { AsyncLocalStorage } from "node:async_hooks";
import {
  type AttemptOutcome,
  type EndpointStats,
  type SenderEvents,
  sqliteStore,
  type Transport,
} from "@countersign/sender";
import { virtualClock } from "@countersign/sender/testing";
import { describe, expect, expectTypeOf, onTestFinished, it } from "vitest";
import { changedStore } from "./support/changed-store.ts";
import { openSender } from "./support/open-sender.ts";
import { startReceiver } from "./support/receiver.ts";
import { freePort } from "../../../tests/support/free-port.ts";

/** A transport whose responses take these times, in milliseconds. */
function takes(durations: number[]): Transport {
  return {
    send: () =>
      Promise.resolve({
        outcome: "success",
        status: 200,
        durationMs: durations.shift() ?? 1,
        responseBody: new Uint8Array(),
      }),
    close: () => Promise.resolve(),
  };
}

/** The bounds of the bars that are not empty, and what is in them. */
function bars({ bounds, counts }: EndpointStats["responseTimes"]): readonly (readonly [number, number])[] {
  return bounds.flatMap((bound, index) => {
    const count = counts[index] ?? 0;
    return count > 0 ? [[bound, count] as const] : [];
  });
}

describe("events", () => {
  it("what happens to a delivery does not happen in the context of another call", async () => {
    const request = new AsyncLocalStorage<string>();
    const seen: string[] = [];
    const see = (what: string, userId: string | undefined): unknown =>
      seen.push(`${what} of ${userId} in ${request.getStore() ?? "none"}`);
    const transport: Transport = {
      send({ delivery }) {
        see("attempt", delivery?.identity);
        return takes([]).send(undefined as never, undefined as never);
      },
      close: () => Promise.resolve(),
    };
    const sender = await openSender({ url: "https://hooks.example.com/", transport });
    sender.on("accepted", ({ delivery }) => see("accepted", delivery.identity));
    sender.on("delivered", ({ delivery }) => see("delivered", delivery.identity));
    // Recorded in one turn, they are stored in one commit: in the context of the first.
    const receipts = await Promise.all(
      ["u1", "u2"].map((userId) => request.run(userId, () => sender.track({ userId, event: "Signed Up" }))),
    );
    await Promise.all(receipts.map((receipt) => receipt.settled()));
    expect(seen.toSorted()).toEqual([
      "accepted of u1 in u1",
      "accepted of u2 in u2",
      "attempt of u1 in none",
      "attempt of u2 in none",
      "delivered of u1 in none",
      "delivered of u2 in none",
    ]);
  });

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

  it("every delivery is told when it is accepted: of each destination, of a sync, and of a repetition", async () => {
    const receiver = await startReceiver();
    const endpoints = [{ url: receiver.url }];
    const sender = await openSender({
      sources: [{ name: "shop", destinations: [{ endpoints }, { name: "second", endpoints }] }],
    });
    const told: [string, string, string | undefined][] = [];
    sender.on("accepted", ({ delivery, resendOf }) =>
      told.push([delivery.id, `${delivery.destination} ${delivery.type} ${delivery.identity}`, resendOf]),
    );
    const { deliveries } = await sender.track({ userId: "u1", event: "Signed Up" });
    const synced = await sender.syncAudience("VIP", ["u2"]);
    const [deleted] = await sender.deleteUser("u3");
    const [first = "", second = ""] = deliveries;
    await (await sender.track({ userId: "u1", event: "e" }, {})).settled();
    told.splice(told.length - 2);
    const resent = await sender.resend(second);
    expect(told).toEqual([
      [first, "shop/webhooks track u1", undefined],
      [second, "shop/second track u1", undefined],
      [synced.deliveries[0], "shop/webhooks identify u2", undefined],
      [synced.deliveries[1], "shop/second identify u2", undefined],
      [deleted?.deliveries[0], "shop/webhooks delete u3", undefined],
      [deleted?.deliveries[1], "shop/second delete u3", undefined],
      [resent.deliveries[0], "shop/second track u1", second],
    ]);
  });

  it("a deletion of several sources is told to be accepted before it is told to be delivered, also where each is stored for itself", async () => {
    const receiver = await startReceiver();
    const store = changedStore(sqliteStore(), (real) => ({
      // As when one source's part is delivered before the others are stored.
      async accept(acceptance) {
        const accepted = await real.accept(acceptance);
        for (const { id } of acceptance.deliveries)
          await expect.poll(async () => (await real.find(id))?.state).toBe("delivered");
        return accepted;
      },
    }));
    const destinations = [{ endpoints: [{ url: receiver.url }] }];
    const sources = ["shop", "blog"].map((name) => ({ name, destinations }));
    const sender = await openSender({ sources, store });
    const told: string[] = [];
    for (const event of ["accepted", "delivered"] as const)
      sender.on(event, ({ delivery }) => told.push(`${delivery.source} ${event}`));
    await sender.deleteUser("u1");
    expect(told.slice(0, 2)).toEqual(["shop accepted", "blog accepted"]);
    expect(told.slice(2).toSorted()).toEqual(["blog delivered", "shop delivered"]);
  });

  it("a skipped call is told with whom and what it was about", async () => {
    const sender = await openSender({
      sources: [{ name: "shop", blockedEvents: ["Heartbeat"], destinations: [] }],
    });
    const skipped: unknown[] = [];
    sender.on("skipped", (call) => skipped.push(call));
    await sender.track({ userId: "u1", messageId: "m1", event: "Heartbeat" });
    const about = { messageId: "m1", type: "track", source: "shop", event: "Heartbeat", identity: "u1" };
    expect(skipped).toEqual([{ ...about, reason: "blocked_event" }]);
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

  it("a listener that waits for the next event from within one is called for the next, not for the same again", async () => {
    const receiver = await startReceiver();
    const sender = await openSender({ url: receiver.url });
    const heard: string[] = [];
    const again = ({ delivery }: SenderEvents["accepted"]): void => {
      heard.push(delivery.id);
      // It would be called without end otherwise.
      if (heard.length < 10) sender.once("accepted", again);
    };
    sender.once("accepted", again);
    const [first, second] = [
      await sender.track({ userId: "u1", event: "First" }),
      await sender.track({ userId: "u1", event: "Second" }),
    ];
    expect(heard).toEqual([...first.deliveries, ...second.deliveries]);
  });

  it("a listener of every event gets every one, also when it waits for the next one besides", async () => {
    const receiver = await startReceiver();
    const sender = await openSender({ url: receiver.url });
    const heard: string[] = [];
    const listener = ({ delivery }: SenderEvents["accepted"]): void => void heard.push(delivery.id);
    sender.on("accepted", listener).once("accepted", listener);
    const [first, second] = [
      await sender.track({ userId: "u1", event: "First" }),
      await sender.track({ userId: "u1", event: "Second" }),
    ];
    expect(heard).toEqual([...first.deliveries, ...second.deliveries]);
    sender.off("accepted", listener);
    await sender.track({ userId: "u1", event: "Third" });
    expect(heard).toHaveLength(2);
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

describe("an endpoint that fails again and again", () => {
  /** A sender whose receiver answers with the next of some statuses, and what it tells of failures. */
  async function failing(answers: number[], failingAfter?: number) {
    const receiver = await startReceiver(() => ({ status: answers.shift() ?? 200 }));
    const clock = virtualClock();
    const sender = await openSender({ url: receiver.url, clock, failingAfter, secret: "secret" });
    const told: string[] = [];
    sender
      .on("failing", ({ failures, since, last, destination, endpoint }) => {
        expect([destination, endpoint]).toEqual(["default/webhooks", receiver.url]);
        told.push(`failing ${failures} ${clock.now() - since} ${last.status}`);
      })
      .on("recovered", ({ failures, last }) => told.push(`recovered ${failures} ${last.outcome}`));
    const send = async (): Promise<void> => {
      await sender.track({ userId: "u1", event: "e" });
      await clock.advance(0);
    };
    return { sender, told, send };
  }

  it("is told once after five attempts of any messages, and once when it has recovered", async () => {
    const { told, send, sender } = await failing([500, 404, 503, 400, 500, 500, 500, 200]);
    for (let n = 0; n < 4; n += 1) await send();
    expect(told).toEqual([]);
    await send();
    expect(told).toEqual(["failing 5 0 500"]);
    await send();
    await send();
    const [ailing] = (await sender.stats()).endpoints;
    expect(ailing).toMatchObject({ failures: 7, lastFailure: { outcome: "server_error", status: 500 } });
    // A response can be long, and there are many endpoints.
    expect(ailing?.lastFailure).not.toHaveProperty("response");
    await send();
    await send();
    expect(told).toEqual(["failing 5 0 500", "recovered 7 success"]);
    const [endpoint] = (await sender.stats()).endpoints;
    expect(endpoint?.failures).toBe(0);
    expect([endpoint?.failingSince, endpoint?.lastFailure]).toEqual([undefined, undefined]);
  });

  it("is told after as many as failingAfter says, and a success in between starts anew", async () => {
    const { told, send } = await failing([500, 200, 500, 500], 2);
    for (let n = 0; n < 3; n += 1) await send();
    expect(told).toEqual([]);
    await send();
    expect(told).toEqual(["failing 2 0 500"]);
  });

  it("does not count that a forgery was rejected, and does count an outage made on purpose", async () => {
    const { told, send, sender } = await failing([401, 401, 401], 2);
    sender.inject("bad_signature", { times: 3 });
    for (let n = 0; n < 3; n += 1) await send();
    expect(told).toEqual([]);
    sender.inject("status:503", { times: 2 });
    for (let n = 0; n < 2; n += 1) await send();
    expect(told).toEqual(["failing 2 0 503"]);
  });

  it.each([0, -1, 1.5, "5"])("refuses failingAfter: %s", async (failingAfter) => {
    const options = { url: "http://127.0.0.1:9/", failingAfter: failingAfter as number };
    await expect(openSender(options)).rejects.toThrow(/failingAfter.*whole number/u);
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
      attemptTimeout: "3s",
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
    // Both are tried again 2.5 to 5 s from now.
    const nextDueAt: unknown = expect.toSatisfy(
      (at: number) => at >= clock.now() + 2_500 && at <= clock.now() + 5_000,
    );
    const waiting = { oldestPendingAt: clock.now(), nextDueAt };
    const none = { pending: 0, delivered: 0, failed: 0, expired: 0 };
    expect(stats.destinations).toEqual([
      {
        ...none,
        destination: "shop/webhooks",
        enabled: true,
        pending: 2,
        delivered: 2,
        failed: 1,
        ...waiting,
      },
      { ...none, destination: "app/off", enabled: false },
      { ...none, destination: "app/on", enabled: true, pending: 1, ...waiting },
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
    expect(times?.bounds).toEqual([5, 10, 25, 50, 100, 250, 500, 1_000, 2_500, 3_000]);
    expect(times).toMatchObject({ count: 4, overBudget: 1 });
    expect(times?.counts.reduce((sum, count) => sum + count, 0)).toBe(4);
    expect(silent?.responseTimes).toMatchObject({ count: 0, overBudget: 0 });
  });

  it("lists a destination that has left the settings for as long as it has deliveries, and not for ever", async () => {
    const receiver = await startReceiver();
    const endpoints = [{ url: receiver.url }];
    const settings = (...names: string[]) => ({
      sources: [{ name: "shop", destinations: names.map((name) => ({ name, endpoints })) }],
    });
    const sender = await openSender({ ...settings("crm", "summer"), clock: virtualClock() });
    await sender.track({ userId: "u1", event: "Sale" });
    await sender.idle();
    const listed = async () => (await sender.stats()).destinations.map(({ destination }) => destination);

    sender.configure(settings("crm"));
    expect(await listed()).toEqual(["shop/crm", "shop/summer"]);

    await sender.clear({ destination: "shop/summer" });
    expect(await listed()).toEqual(["shop/crm"]);
  });

  it("counts what happened in each of the last sixty minutes, and forgets what is older", async () => {
    const answers = [200, 404, 503];
    const receiver = await startReceiver(() => ({ status: answers.shift() ?? 200 }));
    const clock = virtualClock();
    const sender = await openSender({ url: receiver.url, clock });
    const minute = Math.floor(clock.now() / 60_000) * 60_000;
    for (let n = 0; n < 3; n += 1) {
      await sender.track({ userId: "u1", event: "e" });
      await clock.advance(0);
    }
    const nothing = {
      accepted: 0,
      attempts: 0,
      failures: 0,
      nearMisses: 0,
      delivered: 0,
      failed: 0,
      expired: 0,
    };
    const first = { ...nothing, accepted: 3, attempts: 3, failures: 2, delivered: 1, failed: 1 };
    const { minutes } = await sender.stats();
    expect(minutes).toHaveLength(60);
    expect(minutes.at(-1)).toEqual({ ...first, at: minute });
    expect(minutes[0]).toEqual({ ...nothing, at: minute - 59 * 60_000 });

    await clock.advance("59m");
    const later = (await sender.stats()).minutes;
    expect(later[0]).toMatchObject({ at: minute, accepted: 3 });
    expect(later.reduce((sum, { attempts }) => sum + attempts, 0)).toBe(4);
    await clock.advance("1m");
    expect((await sender.stats()).minutes.some(({ accepted }) => accepted > 0)).toBe(false);
  });

  it("counts a success after four fifths of the time as a near miss, in buckets that show how near", async () => {
    const durations = [3_900, 4_000, 4_001, 4_700, 4_950];
    const sender = await openSender({ url: "http://127.0.0.1:9/", transport: takes(durations) });
    for (let n = 0; n < 5; n += 1) await (await sender.track({ userId: "u1", event: "e" })).settled();
    const { endpoints, minutes } = await sender.stats();
    const [{ responseTimes }] = endpoints as [EndpointStats];
    expect(bars(responseTimes)).toEqual([
      [4_000, 2],
      [4_500, 1],
      [4_900, 1],
      [5_000, 1],
    ]);
    expect(responseTimes.nearMisses).toBe(3);
    // The minute may end meanwhile.
    expect(minutes.reduce((sum, minute) => sum + minute.nearMisses, 0)).toBe(3);
  });

  it("counts a response by the time that its attempt shows, in the same bar as a list of those attempts", async () => {
    const sender = await openSender({ url: "http://127.0.0.1:9/", transport: takes([100.04, 100.06]) });
    const shown: number[] = [];
    sender.on("attempt", ({ attempt }) => shown.push(attempt.durationMs));
    for (let n = 0; n < 2; n += 1) await (await sender.track({ userId: "u1", event: "e" })).settled();
    expect(shown).toEqual([100, 100.1]);
    const [{ responseTimes }] = (await sender.stats()).endpoints as [EndpointStats];
    expect(bars(responseTimes)).toEqual([
      [100, 1],
      [250, 1],
    ]);
  });

  it("by default, the last bucket ends at five seconds (spec 8)", async () => {
    const receiver = await startReceiver();
    const sender = await openSender({ url: receiver.url });
    await (await sender.track({ userId: "u1", event: "e" })).settled();
    expect((await sender.stats()).endpoints[0]?.responseTimes.bounds.at(-1)).toBe(5_000);
  });
});
