import { expect, it } from "vitest";
import { putLoadOn, type Sample } from "./support/hostile-load.ts";

const SECONDS = 20;
const MEBIBYTE = 1_048_576;

it(
  `answers honest requests within 500 ms for ${SECONDS} s of 64 hostile shapes at once, its memory level`,
  { timeout: 180_000 },
  async () => {
    const { failures, latencies, accepted, handled, samples, strikes } = await putLoadOn({
      seconds: SECONDS,
    });
    const sorted = latencies.toSorted((a, b) => a - b);
    const at = (share: number): string => (sorted[Math.floor(share * (sorted.length - 1))] ?? 0).toFixed(0);
    process.stdout.write(
      `hostile load: ${strikes.trim()}; ${sorted.length} honest requests, median ${at(0.5)} ms, 99th ${at(0.99)} ms, longest ${at(1)} ms\n`,
    );
    for (const [role, of] of Object.entries(samples)) {
      const megabytes = of.map(({ rss }) => Math.round(rss / MEBIBYTE)).join(" ");
      process.stdout.write(
        `hostile load: ${role}: RSS ${megabytes} MiB; loop at most ${longest(of).toFixed(0)} ms; ${seconds(of)} s of processor time\n`,
      );
    }
    expect(failures).toEqual([]);
    expect(handled).toBeGreaterThanOrEqual(accepted);
    expect(sorted.at(-1)).toBeLessThan(500);
    for (const of of Object.values(samples))
      expect(peak(of.slice(of.length / 2))).toBeLessThan(peak(of.slice(0, of.length / 2)) * 1.2);
  },
);

function peak(samples: readonly Sample[]): number {
  return Math.max(...samples.map(({ rss }) => rss));
}

function seconds(samples: readonly Sample[]): string {
  return (samples.reduce((sum, { cpuMs }) => sum + cpuMs, 0) / 1_000).toFixed(1);
}

function longest(samples: readonly Sample[]): number {
  return Math.max(...samples.map(({ loopMs }) => loopMs));
}
