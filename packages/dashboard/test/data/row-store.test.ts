import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { RowStore } from "../../src/data/row-store.ts";
import { newRow, type Row } from "../../src/shapes/row.ts";

function row(at: number, id = `d-${String(at).padStart(9, "0")}`): Row {
  const acceptedAt = new Date(at).toISOString();
  return newRow({
    id,
    messageId: id,
    type: "track",
    source: "s",
    destination: "s/d",
    identity: "u",
    acceptedAt,
  });
}

const idsOf = (rows: readonly (Row | undefined)[]): (string | undefined)[] => rows.map((found) => found?.id);
const newestFirst = (a: Row, b: Row): number => b.acceptedAt - a.acceptedAt || (a.id < b.id ? 1 : -1);

describe("the rows of the list", () => {
  it("stay in order, each once, however they arrive", () => {
    fc.assert(
      fc.property(fc.array(fc.integer({ min: 1, max: 400 }), { maxLength: 300 }), (times) => {
        const store = new RowStore();
        store.complete = true;
        for (const at of times) store.add(row(at));
        const expected = [...new Set(times)].map((at) => row(at)).toSorted(newestFirst);
        expect(idsOf(store.slice(0, store.length))).toEqual(idsOf(expected));
        for (const [index, { id }] of expected.entries()) expect(store.indexOf(id)).toBe(index);
      }),
      { numRuns: 100 },
    );
  });

  it("that are older than what was read do not appear in its middle: they come with their page", () => {
    const store = new RowStore();
    store.append([row(300), row(200)]);
    store.add(row(100));
    expect(store.length).toBe(2);
    store.append([row(100), row(50)]);
    expect(store.slice(0, 9).map((found) => found?.acceptedAt)).toEqual([300, 200, 100, 50]);
  });

  it("leave memory beyond the capacity, keep their place, and come back where they were", () => {
    const store = new RowStore(2_000);
    const all = Array.from({ length: 6_000 }, (_, index) => row(6_000 - index));
    for (let from = 0; from < all.length; from += 1_000) {
      store.append(all.slice(from, from + 1_000));
      store.trim(0);
    }
    expect(store.length).toBe(6_000);
    expect(store.loaded).toBeLessThanOrEqual(2_000);
    expect(store.slice(0, 1)[0]?.acceptedAt).toBe(6_000);
    for (let gap = store.gap(5_900, 5_950); gap; gap = store.gap(5_900, 5_950)) store.fill(gap, all);
    expect(store.slice(5_900, 5_902).map((found) => found?.acceptedAt)).toEqual([100, 99]);
    store.trim(5_900);
    expect(store.loaded).toBeLessThanOrEqual(2_000);
    expect(store.slice(0, 1)).toEqual([undefined]);
    expect(store.length).toBe(6_000);
  });

  it("that were deleted while they were out of memory lose their place", () => {
    const store = new RowStore(1_000);
    const all = Array.from({ length: 2_000 }, (_, index) => row(2_000 - index));
    store.append(all);
    store.trim(0);
    const gap = store.gap(0, 2_000);
    if (gap === undefined) throw new Error("nothing has left");
    store.fill(
      gap,
      all.filter(({ acceptedAt }) => acceptedAt % 2 === 0),
    );
    expect(store.length).toBe(1_750);
  });

  it("are not replaced by an older state that was listed late", () => {
    const store = new RowStore();
    const current = row(1);
    store.append([current]);
    current.state = "delivered";
    store.add(row(1));
    expect(store.find(current.id)).toMatchObject({ state: "delivered" });
  });
});
