import { isMessageId, timeOrderedId } from "@countersign/protocol";
import fc from "fast-check";
import { describe, expect, it } from "vitest";

const uint32 = fc.integer({ min: 0, max: 2 ** 32 - 1 });

describe("timeOrderedId", () => {
  it("is a version 7 UUID whose order is the order of time", () => {
    const time = fc.integer({ min: 0, max: 2 ** 48 - 1 });
    fc.assert(
      fc.property(time, time, fc.array(uint32, { minLength: 3, maxLength: 3 }), (one, other, bits) => {
        const id = (now: number): string => {
          const left = [...bits];
          return timeOrderedId(now, () => left.pop() ?? 0);
        };
        expect(id(one)).toMatch(/^[\da-f]{8}-[\da-f]{4}-7[\da-f]{3}-[89ab][\da-f]{3}-[\da-f]{12}$/);
        if (one !== other) expect(id(one) < id(other)).toBe(one < other);
      }),
    );
  });
});

describe("isMessageId", () => {
  it("takes 1 to 99 characters", () => {
    expect(["", "a", "a".repeat(99), "a".repeat(100)].map(isMessageId)).toEqual([false, true, true, false]);
  });
});
