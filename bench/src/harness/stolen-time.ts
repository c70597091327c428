import { readFileSync } from "node:fs";

/** Ticks a second in which Linux counts, as it tells programs. */
const TICKS = 100;
/** Where the time stands that a host took: after the name of the line, user, nice, system, idle, iowait, irq and softirq. */
const PLACE = 8;

/**
 * Seconds of its cores that a virtual machine wanted and its host gave to others, since it started. They make every time of a
 * program longer, and no program can see why.
 *
 * @param stat - What `/proc/stat` says.
 * @returns undefined where the system does not tell
 */
export function stolenSeconds(stat: string = readStat()): number | undefined {
  const line = stat.split("\n", 1)[0]?.split(/ +/) ?? [];
  const stolen = Number(line[PLACE]);
  return line[0] === "cpu" && Number.isFinite(stolen) ? stolen / TICKS : undefined;
}

function readStat(): string {
  try {
    return readFileSync("/proc/stat", "utf8");
  } catch {
    return "";
  }
}

/** What the host takes from now on: each call tells how many of the cores, on average. */
export function watchStolenCores(
  seconds: () => number | undefined = stolenSeconds,
): () => number | undefined {
  const [start, before] = [performance.now(), seconds()];
  return () => {
    const after = seconds();
    if (before === undefined || after === undefined) return undefined;
    return (after - before) / ((performance.now() - start) / 1_000);
  };
}
