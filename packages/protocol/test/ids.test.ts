import { isMessageId, timeOrderedIds } from "@countersign/protocol";
import fc from "fast-check";
import { describe, expect, it } from "vitest";

const uint32 = fc.integer({ min: 0, max: 2 ** 32 - 1 });

describe("timeOrderedIds", () => {
  const time = fc.integer({ min: 0, max: 2 ** 48 - 1 });

  /** A maker that draws these bits, again and again. */
  const makerOf = (bits: readonly number[]): ((now: number) => string) => {
    let drawn = 0;
    return timeOrderedIds(() => bits[drawn++ % bits.length] ?? 0);
  };

  it("makes version 7 UUIDs whose order is the order of time", () => {
    fc.assert(
      fc.property(time, time, fc.array(uint32, { minLength: 3, maxLength: 3 }), (one, other, bits) => {
        const newId = makerOf(bits);
        const [first, second] = [newId(one), newId(other)];
        expect(first).toMatch(/^[\da-f]{8}-[\da-f]{4}-7[\da-f]{3}-[89ab][\da-f]{3}-[\da-f]{12}$/);
        if (one !== other) expect(first < second).toBe(one < other);
      }),
    );
  });

  it("makes ids that increase within a millisecond, whatever is drawn", () => {
    fc.assert(
      fc.property(time, fc.array(uint32, { minLength: 1, maxLength: 9 }), (now, bits) => {
        const newId = makerOf(bits);
        const ids = Array.from({ length: 200 }, () => newId(now));
        expect(ids).toEqual(ids.toSorted());
        expect(new Set(ids).size).toBe(ids.length);
      }),
    );
  });
});

describe("isMessageId", () => {
  it("takes 1 to 99 characters", () => {
    expect(["", "a", "a".repeat(99), "a".repeat(100)].map(isMessageId)).toEqual([false, true, true, false]);
  });
});
