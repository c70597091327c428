const BATCH = 20;
const SLICE_US = 40_000;

// CPU time, not time: another process that takes the core is then no part of the measurement.
function cpuMicroseconds(): number {
  const { user, system } = process.cpuUsage();
  return user + system;
}

/** How many microseconds of CPU time `run` takes: the mean over a slice of time. */
export function microseconds(run: () => unknown): number {
  const start = cpuMicroseconds();
  let [count, used] = [0, 0];
  for (; used < SLICE_US; used = cpuMicroseconds() - start) {
    for (let n = 0; n < BATCH; n += 1) run();
    count += BATCH;
  }
  return used / count;
}

/** The same for what answers with a promise, one after another. */
export async function microsecondsAsync(run: () => Promise<unknown>): Promise<number> {
  const start = cpuMicroseconds();
  let [count, used] = [0, 0];
  for (; used < SLICE_US; used = cpuMicroseconds() - start) {
    for (let n = 0; n < BATCH; n += 1) await run();
    count += BATCH;
  }
  return used / count;
}
