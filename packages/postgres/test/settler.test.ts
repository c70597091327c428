import { describe, expect, it } from "vitest";
import type { HandOver } from "../src/delivery/lane.ts";
import { Settler, type SettlerOptions } from "../src/delivery/settler.ts";
import { namesOf } from "../src/schema/names.ts";

/** A settler whose database is away. */
function newSettler(): Settler {
  const connections = { query: () => Promise.reject(new Error("The database is away.")) };
  const partitions = { has: () => true, isMissing: () => false };
  return new Settler({
    connections,
    partitions,
    names: namesOf("countersign"),
    now: Date.now,
    failed: () => {},
  } as unknown as SettlerOptions);
}

function handedOver(id: string, worker: string): HandOver {
  return {
    worker,
    claim: 1,
    due: { delivery: { id, source: "shop", acceptedAt: 0 } },
  } as unknown as HandOver;
}

describe("a settler that closes while the database is away", () => {
  it("tells of every result that it was not stored, also of those of another worker's claims, so that nothing waits for them", async () => {
    const settler = newSettler();
    const told: [string, boolean][] = [];
    for (const [id, worker] of [
      ["of one", "w1"],
      ["of the next one", "w2"],
    ] as const) {
      const settlement = { state: "delivered", endedAt: 1, attempts: [] } as const;
      settler.settle(handedOver(id, worker), settlement, (isStored) => told.push([id, isStored]));
    }
    await settler.close();
    expect(told).toEqual([
      ["of one", false],
      ["of the next one", false],
    ]);
  });
});
