import { createHmac, randomBytes } from "node:crypto";
import { describe, expect, it } from "vitest";
import * as onNode from "../../packages/core/src/platform-node.ts";
import * as portable from "../../packages/core/src/platform-portable.ts";
import { measureLeak, type Leak } from "./support/dudect.ts";

// The method of dudect (Reparaz, Balasch, Verbauwhede, "Dude, is my code constant time?", 2017): two classes of input are
// timed in random order, slow outliers are cropped, and Welch's t-test says whether the classes differ. Its authors call
// |t| > 10 a leak, and over 4.5 a suspicion. What this shows, and what it cannot: docs/security-testing.md.

/** Beyond this the two classes take different times. */
const LEAK = 10;

/** Comparisons in one measurement: one by itself is below the resolution of the clock. */
const REPEATS = 200;

const LENGTH = 20;

type Compare = (a: Uint8Array, b: Uint8Array) => boolean;

/** What programs do that do not know better: it stops at the first difference. */
const leaky: Compare = (a, b) => {
  for (let index = 0; index < LENGTH; index += 1) if (a[index] !== b[index]) return false;
  return true;
};

/** Times the compare of the right digest with ones that are wrong in their first byte, or only in their last. */
function leakOf(compare: Compare): Leak {
  const digest = createHmac("sha1", "secret").update("{}").digest();
  const wrongAt = (index: number): Uint8Array => {
    const copy = Uint8Array.from(digest);
    copy[index] = (copy[index] ?? 0) ^ (1 + ((randomBytes(1)[0] ?? 0) % 255));
    return copy;
  };
  let matches = 0;
  return measureLeak({
    inputs: [() => wrongAt(0), () => wrongAt(LENGTH - 1)],
    run(input) {
      for (let repeat = 0; repeat < REPEATS; repeat += 1) if (compare(digest, input)) matches += 1;
      if (matches > 0) throw new Error("A wrong digest matches.");
    },
  });
}

describe("the time of comparing digests, by dudect's method", () => {
  it.each([
    ["node:crypto", onNode.equalDigests],
    ["plain JavaScript", portable.equalDigests],
  ])("does not tell where they differ, by %s", (name, compare) => {
    const { t, measurements } = leakOf(compare);
    process.stdout.write(
      `dudect: ${name}: |t| = ${Math.abs(t).toFixed(1)} over ${measurements} measurements\n`,
    );
    expect(Math.abs(t)).toBeLessThan(LEAK);
  });

  it("finds the leak of a compare that stops at the first difference, so that it would find one", () => {
    const { t, measurements } = leakOf(leaky);
    process.stdout.write(
      `dudect: early exit: |t| = ${Math.abs(t).toFixed(1)} over ${measurements} measurements\n`,
    );
    expect(Math.abs(t)).toBeGreaterThan(LEAK);
  });
});
