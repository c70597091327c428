import type { DueDelivery } from "@countersign/sender/store";
import { virtualClock } from "@countersign/sender/testing";
import { describe, expect, it } from "vitest";
import { type HandOver, Lane, type LaneOptions } from "../src/delivery/lane.ts";

const START = Date.parse("2026-03-01T12:00:00Z");

/** A lane that nothing is known of, its clock, and how often it was woken. */
function newLane(options: Partial<Pick<LaneOptions, "concurrency" | "hasOthers" | "memory">> = {}) {
  const clock = virtualClock(START);
  const woken: number[] = [];
  const lane = new Lane({
    source: "shop",
    destination: "shop/main",
    concurrency: 10,
    handler: { deliver: () => Promise.reject(new Error("unused")), settled: () => {}, lost: () => {} },
    clock,
    wake: () => woken.push(clock.now() - START),
    hasOthers: () => true,
    memory: { bytes: 0 },
    ...options,
  });
  return { lane, clock, woken };
}

/** A delivery that was claimed for a lane, with a body of so many bytes. */
function claimed(lane: Lane, id: string, bytes = 10): HandOver {
  const due = { delivery: { id }, body: new Uint8Array(bytes) } as unknown as DueDelivery;
  const signal = new AbortController().signal;
  const handOver = { lane, due, worker: "w1", claim: 1, signal, since: 0, position: -1 };
  lane.inFlight.add(handOver);
  return handOver;
}

/** A lane that has claimed everything that is due. */
function drainedLane(options?: Parameters<typeof newLane>[0]) {
  const made = newLane(options);
  made.lane.drained(made.lane.stirs, undefined);
  return made;
}

describe("what a lane knows of what is due", () => {
  it("claims again when it was woken during a claim that found nothing", () => {
    const { lane } = newLane();
    const begun = lane.stirs;
    lane.stir();
    lane.drained(begun, undefined);
    expect(lane.isDrained).toBe(false);
    lane.drained(lane.stirs, undefined);
    expect(lane.isDrained).toBe(true);
  });

  it("is woken by the first of several that fall due, whichever was heard of first, and then claims", async () => {
    const { lane, clock, woken } = drainedLane();
    for (const dueAt of [5_000, 1_000, 3_000]) lane.wakeBy(START + dueAt);
    await clock.advance(1_000);
    expect(woken).toEqual([1_000]);
    expect(lane.isDrained).toBe(false);
  });

  it("is woken for what was postponed during a claim that found nothing, or only something later", async () => {
    const { lane, clock, woken } = newLane();
    lane.wakeBy(START + 1_000);
    lane.drained(lane.stirs, undefined);
    await clock.advance(1_000);
    lane.wakeBy(START + 2_000);
    lane.drained(lane.stirs, START + 3_000);
    await clock.advance(1_000);
    expect(woken).toEqual([1_000, 2_000]);
  });

  it("is woken while its deliveries are under way, and has room for what falls due", async () => {
    const { lane, clock, woken } = drainedLane();
    claimed(lane, "slow");
    lane.delivering = 1;
    lane.took(10_000);
    lane.wakeBy(START + 1_000);
    await clock.advance(1_000);
    expect(woken).toEqual([1_000]);
    expect(lane.room(10)).toBe(9);
  });

  it("takes a delivery that is being stored only if no other is due before it", async () => {
    const { lane, clock } = newLane();
    // Nothing is known yet: the table may have an older one.
    expect(lane.isNext(START)).toBe(false);
    lane.drained(lane.stirs, START + 1_000);
    expect(lane.isNext(START)).toBe(true);
    // Its time has not come.
    expect(lane.isNext(START + 500)).toBe(false);
    lane.wakeBy(START);
    expect(lane.isNext(START)).toBe(false);
    await clock.advance(0);
    expect(lane.isNext(START)).toBe(false);
  });

  it("takes nothing more when it was stopped, and is not woken", async () => {
    const { lane, clock, woken } = drainedLane();
    lane.wakeBy(START + 1_000);
    await lane.stop();
    await clock.advance(2_000);
    expect(woken).toEqual([]);
    expect(lane.isNext(START)).toBe(false);
  });
});

describe("how much a lane claims", () => {
  it("with others, twice its part at most: settlements that the database does not take do not gather", () => {
    const { lane } = newLane();
    for (let index = 0; index < 25; index += 1) claimed(lane, `d${index}`);
    // All of them are delivered, and none is settled.
    lane.took(250);
    expect(lane.room(10)).toBe(0);
    expect(lane.roomForNew(10)).toBe(0);
  });

  it("alone, thousands; but none beyond what bodies may take of the memory, in all lanes", () => {
    const memory = { bytes: 0 };
    const { lane } = newLane({ hasOthers: () => false, memory });
    expect(lane.room(10)).toBeGreaterThan(1_000);
    memory.bytes = 65_000_000;
    expect(lane.room(10)).toBe(10);
  });

  it("many at a time: it claims no more while half of what may wait does so", () => {
    const { lane } = newLane({ hasOthers: () => false });
    const most = lane.room(10);
    for (let index = 0; index < most / 2 + 10; index += 1) lane.wait(claimed(lane, `d${index}`));
    expect(lane.room(10)).toBe(0);
    // What is being stored is taken all the same: it need not be read back.
    expect(lane.roomForNew(10)).toBeGreaterThan(1_000);
    while (lane.waiting > most / 4) lane.nextWaiting();
    for (const handOver of lane.inFlight.items().slice(lane.waiting)) lane.inFlight.delete(handOver);
    expect(lane.room(10)).toBeGreaterThan(1_000);
  });

  it("counts the bodies of what waits, and no others", () => {
    const memory = { bytes: 0 };
    const { lane } = newLane({ memory });
    for (const id of ["d0", "d1", "d2", "d3"]) lane.wait(claimed(lane, id, 100));
    expect(memory.bytes).toBe(400);
    lane.nextWaiting();
    expect(memory.bytes).toBe(300);
    lane.takeWaiting(1);
    expect(memory.bytes).toBe(100);
  });

  it("gives back what came last when attempts turn out slow, also while none of them has ended", () => {
    const { lane } = newLane();
    for (let index = 0; index < 5; index += 1) lane.wait(claimed(lane, `d${index}`));
    // As many as it has places may wait while nothing is known; for how long, the clock says.
    expect(lane.takeLate(10, 100)).toEqual([]);
    const late = lane.takeLate(10, 2_000);
    expect(late.map(({ due }) => due.delivery.id)).toEqual(["d0", "d1", "d2", "d3", "d4"]);
    expect(lane.waiting).toBe(0);
  });
});

describe("a lane that is left", () => {
  it("is left when nothing is under way, claimed or being claimed", async () => {
    const { lane } = newLane();
    const one = claimed(lane, "d1");
    lane.reserved = 1;
    let isLeft = false;
    const left = lane.stop().then(() => (isLeft = true));
    lane.forget(one);
    await new Promise((resolve) => setImmediate(resolve));
    expect(isLeft).toBe(false);
    lane.reserved = 0;
    lane.checkEmpty();
    await left;
  });

  it("keeps a delivery that was claimed again when the end of its earlier claim is heard of", () => {
    const { lane } = newLane();
    const earlier = claimed(lane, "d1");
    const later = claimed(lane, "d1");
    lane.forget(earlier);
    expect(lane.inFlight.items()).toEqual([later]);
  });
});
