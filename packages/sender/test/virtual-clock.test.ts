import { sqliteStore } from "@countersign/sender";
import { virtualClock } from "@countersign/sender/testing";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { openSender } from "./support/open-sender.ts";
import { startReceiver } from "./support/receiver.ts";
import { temporaryFolder } from "./support/temporary-folder.ts";

describe("virtualClock", () => {
  it("tasks run at their own time, in order, those included that they add", async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(fc.integer({ min: 0, max: 1_000 })), async (delays) => {
        const clock = virtualClock(0);
        const ran: number[] = [];
        for (const at of delays) {
          clock.schedule(at, () => {
            ran.push(clock.now());
            if (at < 500) clock.schedule(at + 500, () => ran.push(clock.now()));
          });
        }
        await clock.advance(1_000);
        const expected = delays.flatMap((at) => (at < 500 ? [at, at + 500] : [at]));
        expect(ran).toEqual(expected.toSorted((a, b) => a - b));
        expect(clock.now()).toBe(1_000);
      }),
      { numRuns: 30 },
    );
  });

  it("a task that was called off does not run", async () => {
    const clock = virtualClock();
    const ran: string[] = [];
    const first = clock.schedule(clock.now() + 1, () => ran.push("first"));
    clock.schedule(clock.now() + 1, () => ran.push("second"));
    first.cancel();
    first.cancel();
    await clock.advance(1);
    expect(ran).toEqual(["second"]);
  });

  it("does not move on while work of this instant is under way", async () => {
    const clock = virtualClock(0);
    const ran: number[] = [];
    clock.schedule(5, () => ran.push(clock.now()));
    const release = clock.hold();
    const advanced = clock.advance(10);
    const turn = new Promise((resolve) => setImmediate(resolve));
    await turn;
    expect([ran, clock.now()]).toEqual([[], 0]);
    release();
    release();
    await advanced;
    expect([ran, clock.now()]).toEqual([[5], 10]);
  });

  it("two advances at once are one after the other", async () => {
    const clock = virtualClock(0);
    await Promise.all([clock.advance("1s"), clock.advance("2s")]);
    expect(clock.now()).toBe(3_000);
  });

  it.each<[Parameters<ReturnType<typeof virtualClock>["advance"]>[0], number]>([
    [250, 250],
    ["250ms", 250],
    ["1.5s", 1_500],
    ["10m", 600_000],
    ["4h", 14_400_000],
    ["7d", 604_800_000],
  ])("advance(%j)", async (duration, ms) => {
    const clock = virtualClock(0);
    await clock.advance(duration);
    expect(clock.now()).toBe(ms);
  });

  it("what is no duration is a TypeError, and a type error", async () => {
    const clock = virtualClock();
    expect(() => clock.advance(-1)).toThrow(TypeError);
    // @ts-expect-error no unit
    expect(() => clock.advance("4")).toThrow(/"4h"/);
    // @ts-expect-error no such unit
    expect(() => clock.advance("4 hours")).toThrow(TypeError);
  });

  it("does not move past the last time there is", async () => {
    const clock = virtualClock();
    const before = clock.now();
    await expect(clock.advance("100000000d")).rejects.toThrow(TypeError);
    await clock.advance(1);
    expect(clock.now()).toBe(before + 1);
  });

  it("starts where it is told", () => {
    const time = "2024-05-06T07:08:09.010Z";
    const starts = [virtualClock(time), virtualClock(new Date(time)), virtualClock(Date.parse(time))];
    expect(starts.map((clock) => new Date(clock.now()).toISOString())).toEqual([time, time, time]);
  });
});

describe("a seeded run", () => {
  async function run(seed: string): Promise<{ wire: string; log: unknown }> {
    const receiver = await startReceiver(({ path, message }) => ({
      status: path === "/bad" ? 503 : message["event"] === "3" ? 200 : 500,
    }));
    const clock = virtualClock();
    const sender = await openSender({
      seed,
      clock,
      store: sqliteStore(),
      sources: [
        {
          name: "shop",
          destinations: [
            {
              endpoints: [{ url: `${receiver.url}good` }, { url: `${receiver.url}bad` }],
              secret: "secret",
            },
          ],
        },
      ],
    });
    for (let event = 0; event < 10; event += 1) {
      await sender.track({ userId: "u1", event: String(event) });
      await clock.advance("7s");
    }
    await sender.syncAudience("Big Spenders", ["a", "b"]);
    await clock.advance("1h");
    const wire = receiver.received.map(
      ({ path, body, headers }) => `${path} ${body} ${String(headers["x-signature"])}`,
    );
    const deliveries = await sender.deliveries();
    const log = deliveries.map(({ id, state, acceptedAt, attempts }) => [
      id,
      state,
      acceptedAt,
      attempts.map(({ startedAt, outcome }) => [startedAt, outcome]).toSorted(),
    ]);
    return { wire: wire.toSorted().join("\n"), log };
  }

  it("repeats to the byte: ids, bodies, signatures, times of every attempt", async () => {
    const [first, second, other] = [await run("a"), await run("a"), await run("b")];
    expect(first.wire.length).toBeGreaterThan(10_000);
    expect(second).toEqual(first);
    expect(other.wire).not.toBe(first.wire);
  });

  it("a store that is opened again does not get the ids it has a second time", async () => {
    const receiver = await startReceiver();
    const ids: string[] = [];
    const path = `${temporaryFolder()}/deliveries.db`;
    for (let opened = 0; opened < 2; opened += 1) {
      const sender = await openSender({
        url: receiver.url,
        seed: 1,
        clock: virtualClock(),
        store: sqliteStore({ path }),
      });
      const receipt = await sender.track({ userId: "u1", event: "e" });
      ids.push(receipt.messageId, ...receipt.deliveries);
      await receipt.settled();
      await sender.close();
    }
    expect(new Set(ids).size).toBe(4);
  });
});
