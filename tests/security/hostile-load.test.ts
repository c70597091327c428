import { expect, it } from "vitest";
import { putLoadOn } from "./support/hostile-load.ts";

const MEBIBYTE = 1_048_576;

// Times are not asserted here, where other tests run at the same time: hostile-load.long.ts does that.
it(
  "serves every honest request while 64 hostile shapes strike at once, and keeps its memory",
  { timeout: 120_000 },
  async () => {
    const { failures, latencies, accepted, handled, samples, strikes } = await putLoadOn({ rounds: 2 });
    expect(strikes).toBe("128 strikes of 64 shapes\n");
    expect(failures).toEqual([]);
    expect(latencies.length).toBeGreaterThan(20);
    // What was answered reaches the handler.
    expect(handled).toBeGreaterThanOrEqual(accepted);
    for (const [before, ...later] of Object.values(samples)) {
      expect(((later.at(-1)?.peak ?? 0) - (before?.peak ?? 0)) / MEBIBYTE).toBeLessThan(200);
    }
  },
);
