import type { Sender } from "@countersign/sender";
import { expect, it, onTestFinished, vi } from "vitest";
import { StoreRoom, type StoreStateJson } from "../../src/live/store-room.ts";

interface Watched {
  readonly room: StoreRoom;
  readonly told: readonly StoreStateJson[];
  /** The sender reports a state of its store. */
  readonly report: (state: StoreStateJson) => void;
}

/** @param atFirst What the store says when it was opened. */
function watch(atFirst: StoreStateJson = { state: "up" }): Watched {
  vi.useFakeTimers({ toFake: ["performance", "setTimeout", "clearTimeout"] });
  onTestFinished(() => void vi.useRealTimers());
  const listeners = new Map<string, () => void>();
  const sender = {
    storeState: atFirst,
    on: (event: string, listener: () => void) => void listeners.set(event, listener),
  };
  const told: StoreStateJson[] = [];
  const room = new StoreRoom(sender as unknown as Sender, (state) => void told.push(state));
  return {
    room,
    told,
    report(state) {
      sender.storeState = state;
      listeners.get("storeState")?.();
    },
  };
}

const DOWN = { state: "down", reason: "The table is locked." };

it("a store is down from a call that it could not store to the next that it could, and this is told once", () => {
  const { room, told } = watch();
  room.stored();
  vi.advanceTimersByTime(1_000);
  room.refused("down", "The table is locked.");
  room.refused("down", "The table is locked.");
  expect(room.state()).toEqual(DOWN);
  room.stored();
  expect(room.state()).toEqual({ state: "up" });
  expect(told).toEqual([DOWN, { state: "up" }]);
});

it("a store that was opened with something to say is told at once, and one without is not", () => {
  const apart: StoreStateJson = { state: "unsafe", reason: "The clock is 5 h ahead." };
  expect(watch(apart).told).toEqual([apart]);
  expect(watch().told).toEqual([]);
});

it("without another call it is up again after 5 seconds, so that what is over costs a server no traffic for long, and says so", () => {
  const { room, told } = watch();
  room.refused("down", "The table is locked.");
  vi.advanceTimersByTime(4_999);
  expect(room.state()).toEqual(DOWN);
  vi.advanceTimersByTime(1);
  expect(room.state()).toEqual({ state: "up" });
  expect(told).toEqual([DOWN, { state: "up" }]);
});

it("a store is full for 30 seconds after the last call that found no room, and its end is told once, since readers took it for full for good", () => {
  const { room, told } = watch();
  const full = { state: "full", reason: "The disk is full." } as const;
  room.refused("full", "The disk is full.");
  vi.advanceTimersByTime(20_000);
  room.refused("full", "The disk is full.");
  vi.advanceTimersByTime(29_999);
  expect([room.state(), told]).toEqual([full, [full]]);
  vi.advanceTimersByTime(60_000);
  expect([room.state(), told]).toEqual([{ state: "up" }, [full, { state: "up" }]]);
});

it.each(["before", "after"])(
  "on a disk with room again it is up at once, whether a call was refused %s the store was down, since it was said to be full",
  (when) => {
    const { room, told, report } = watch();
    const full = { state: "full", reason: "The disk is full." } as const;
    const down = { state: "down", reason: "The disk is full." } as const;
    if (when === "before") room.refused("full", "The disk is full.");
    report(down);
    if (when === "after") room.refused("full", "The disk is full.");
    report({ state: "up" });
    expect(told).toEqual([...(when === "before" ? [full] : []), down, { state: "up" }]);
  },
);

it("what the store says itself counts more than the last call", () => {
  const { room, told, report } = watch();
  report({ state: "down", reason: "The database is away." });
  room.refused("down", "The connection broke.");
  report({ state: "up" });
  expect(room.state()).toEqual({ state: "up" });
  expect(told).toEqual([{ state: "down", reason: "The database is away." }, { state: "up" }]);
});

it("a call that is stored is no sign that there is room for a larger one", () => {
  const { room } = watch();
  room.refused("full", "The disk is full.");
  room.stored();
  expect(room.state()).toEqual({ state: "full", reason: "The disk is full." });
});

it("a store that stores other calls is not down, since a client whose calls it cannot store took it from everyone and was told each time", () => {
  const { room, told } = watch();
  for (let call = 0; call < 10; call += 1) {
    room.stored();
    vi.advanceTimersByTime(999);
    room.refused("down", "The part of eu is away.");
    expect(room.state()).toEqual({ state: "up" });
  }
  expect(told).toEqual([]);
});

it("a store that says of which part it is away is as it says, since all other sources were told to go elsewhere", () => {
  const { room, told, report } = watch();
  const partly = { state: "up", reason: "eu is down: The database is away." } as const;
  report(partly);
  room.refused("down", "The database is away.");
  expect(room.state()).toEqual(partly);
  expect(told).toEqual([partly]);
});
