import { Bag } from "@countersign/protocol";
import { describe, expect, it } from "vitest";

function item(name: string) {
  return { name, position: -1 };
}

function names(bag: Bag<ReturnType<typeof item>>): string[] {
  return bag
    .items()
    .map(({ name }) => name)
    .toSorted();
}

describe("a bag", () => {
  it("has what was added and not deleted, whichever is deleted first", () => {
    for (const order of ["abc", "acb", "bac", "bca", "cab", "cba"]) {
      const bag = new Bag<ReturnType<typeof item>>();
      const items = new Map(["a", "b", "c"].map((name) => [name, item(name)]));
      for (const each of items.values()) bag.add(each);
      let left = "abc";
      for (const name of order) {
        bag.delete(items.get(name) ?? item("none"));
        left = left.replace(name, "");
        expect(names(bag).join("")).toBe(left);
        expect(bag.size).toBe(left.length);
      }
    }
  });

  it("deletes nothing else when an item is not in it, or not any more", () => {
    const bag = new Bag<ReturnType<typeof item>>();
    const [first, second] = [item("first"), item("second")];
    bag.add(first);
    bag.delete(second);
    const other = new Bag<ReturnType<typeof item>>();
    other.add(second);
    bag.delete(second);
    expect([names(bag), names(other)]).toEqual([["first"], ["second"]]);
    bag.delete(first);
    bag.delete(first);
    expect(bag.size).toBe(0);
  });

  it("takes an item again that was in it before", () => {
    const bag = new Bag<ReturnType<typeof item>>();
    const again = item("again");
    bag.add(again);
    bag.delete(again);
    bag.add(again);
    expect(names(bag)).toEqual(["again"]);
  });

  it("gives a list that stays as it is while items are deleted", () => {
    const bag = new Bag<ReturnType<typeof item>>();
    for (const name of ["a", "b", "c"]) bag.add(item(name));
    const deleted: string[] = [];
    for (const each of bag.items()) {
      bag.delete(each);
      deleted.push(each.name);
    }
    expect(deleted).toEqual(["a", "b", "c"]);
  });
});
