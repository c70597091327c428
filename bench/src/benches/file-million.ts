import type { DeliveryFilter } from "@countersign/sender";
import { join } from "node:path";
import { clearImmediate, setImmediate } from "node:timers";
import type { Bench, BenchContext } from "../harness/bench.ts";
import type { Row } from "../harness/row.ts";
import { median } from "../harness/statistics.ts";
import { openFile, type Pile, pileInFile } from "../support/file-million.ts";
import { withTemporaryFolder } from "../support/temporary-folder.ts";

const MILLION = 1_000_000;
const TIMES = 5;

/** Each field alone, values that are frequent, rare, old and absent, and some together. */
const FILTERS: readonly DeliveryFilter[] = [
  {},
  { state: ["failed", "pending"] },
  { source: "bench" },
  { destination: "bench/none" },
  { type: "identify" },
  { messageId: "message-500000" },
  { identity: "anonymous" },
  { identity: "user-77" },
  { event: "Order Completed" },
  { event: "Oldest" },
  { event: "None" },
  { outcome: "success" },
  { outcome: "timeout" },
  { status: 200 },
  { status: 202 },
  { status: 204 },
  { status: 410 },
  { endpoint: "https://example.com/hooks" },
  { endpoint: "https://example.com/oldest" },
  { endpoint: "https://example.com/none" },
  { q: "user-77" },
  { q: "Order" },
  { q: "E" },
  { q: "nothing" },
  { q: "Event 1", state: "failed" },
  { q: "nothing", destination: "bench/d0", type: "track" },
  { event: "None", type: "track", state: ["pending", "failed"] },
  { identity: "user-77", state: "delivered", status: 200 },
];

/** How long other work waits at most while an action runs, in milliseconds. */
async function longestWait(action: () => Promise<unknown>): Promise<number> {
  let longest = 0;
  let last = performance.now();
  const turn = (): void => {
    const now = performance.now();
    longest = Math.max(longest, now - last);
    last = now;
    next = setImmediate(turn);
  };
  let next = setImmediate(turn);
  await action();
  longest = Math.max(longest, performance.now() - last);
  clearImmediate(next);
  return longest;
}

/** The slowest of several, each with the middle of its times. */
async function slowest(
  measure: (filter: DeliveryFilter) => Promise<number>,
): Promise<[filter: string, ms: number]> {
  let found: [string, number] = ["", 0];
  for (const filter of FILTERS) {
    const times: number[] = [];
    for (let time = 0; time < TIMES; time += 1) times.push(await measure(filter));
    const ms = median(times);
    if (ms > found[1]) found = [JSON.stringify(filter), ms];
  }
  return found;
}

async function filterRows(path: string, of: Pile, { progress }: BenchContext): Promise<Row[]> {
  progress(`file store, filters over 1,000,000 ${of} deliveries`);
  await pileInFile(path, of, MILLION);
  const sender = await openFile(path);
  try {
    const [filter, ms] = await slowest(async (one) => {
      const start = performance.now();
      await sender.summaries({ ...one, limit: 50 });
      return performance.now() - start;
    });
    const [counted, waitMs] = await slowest((one) => longestWait(() => sender.count(one)));
    const against = `a fixed bound, 1,000,000 ${of} deliveries`;
    const bound = { against, unit: "ms", target: { of: "ours", is: "at most", value: 50 } } as const;
    return [
      { ...bound, what: `file store, slowest of ${FILTERS.length} filters: ${filter}`, ours: ms },
      { ...bound, what: `file store, longest that other work waits for a count: ${counted}`, ours: waitMs },
    ];
  } finally {
    await sender.close();
  }
}

/** What takes half a minute to store: it runs with `--write`. */
export const fileMillion: Bench = {
  name: "file-million",
  about:
    "whether a list or a count of the file store is slow, or holds up other work, with a million deliveries, pending or kept",
  kind: "curve",
  run: (context) =>
    withTemporaryFolder(async (folder) => {
      const pending = await filterRows(join(folder, "pending.db"), "pending", context);
      return { rows: [...pending, ...(await filterRows(join(folder, "ended.db"), "ended", context))] };
    }),
};
