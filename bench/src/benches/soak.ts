import { statSync } from "node:fs";
import { join } from "node:path";
import type { Sender, SenderEvents } from "@countersign/sender";
import type { Bench, BenchContext, BenchResult } from "../harness/bench.ts";
import { alternate, type Contender, valuesOf } from "../harness/contest.ts";
import type { Row } from "../harness/row.ts";
import { median, quantile } from "../harness/statistics.ts";
import { startChild, withChildren } from "../support/child.ts";
import { trackOrder } from "../support/calls.ts";
import { openSender, perSecond } from "../support/forwarders.ts";
import { SteadyLoad } from "../support/steady-load.ts";
import { withTemporaryFolder } from "../support/temporary-folder.ts";

const MINUTES = 10;
const CALLS_UNDER_WAY = 100;
const FAILURE_SHARE = 0.05;
const MEGABYTE = 1_000_000;
/** How much more the last minutes may show than those after the first. */
const MOST_GROWTH = 1.15;

/** What a minute came to. */
interface Minute {
  readonly memory: number;
  readonly file: number;
  readonly acceptP99: number;
  readonly deliveryP90: number;
}

async function measureMinute(load: SteadyLoad, path: string): Promise<Minute> {
  await load.run(60);
  const { accepted, delivered } = load.take();
  return {
    memory: process.memoryUsage().rss / MEGABYTE,
    file: (statSync(path).size + statSync(`${path}-wal`).size) / MEGABYTE,
    acceptP99: quantile(accepted, 0.99),
    // Below the share that fails and comes again some seconds later.
    deliveryP90: quantile(delivered, 0.9),
  };
}

/**
 * Half of the calls a second that the sender can take for long: so many single calls are under way at any time, each until its
 * first attempt was made. Retries wait, and do not count. A burst of calls made at once is several times as fast, since one
 * commit has hundreds of them.
 */
async function halfOfMaximum(sender: Sender): Promise<number> {
  const measured = await alternate([underWay(sender, 20_000)], { rounds: 3 });
  return Math.round(median(valuesOf(measured, "sender")) / 2);
}

function underWay(sender: Sender, calls: number): Contender {
  const measure = async (): Promise<number> => {
    const rate = await perSecond(
      calls,
      () =>
        new Promise<void>((resolve, reject) => {
          let [made, attempted] = [0, 0];
          const call = (): void => {
            made += 1;
            trackOrder(sender, made).catch(reject);
          };
          const onAttempt = ({ attempt: { round } }: SenderEvents["attempt"]): void => {
            if (round > 1) return;
            attempted += 1;
            if (made < calls) call();
            if (attempted < calls) return;
            sender.off("attempt", onAttempt);
            resolve();
          };
          sender.on("attempt", onAttempt);
          for (let count = 0; count < CALLS_UNDER_WAY; count += 1) call();
        }),
    );
    await sender.idle();
    return rate;
  };
  return { name: "sender", measure };
}

/** Compares the last third of the minutes with the third before it: whether something still grows. */
function growthOf(what: string, unit: string, values: readonly number[]): Row {
  const third = Math.max(Math.floor(values.length / 3), 1);
  const [late, middle] = [values.slice(-third), values.slice(-2 * third, -third)];
  const [ours, theirs] = [median(late), median(middle.length === 0 ? late : middle)];
  const ratio = ours / theirs;
  return {
    what: `soak, ${what}, last third`,
    against: "the third before",
    unit,
    ours,
    theirs,
    ratio: { median: ratio, low: ratio, high: ratio },
    target: { of: "ratio", is: "at most", value: MOST_GROWTH },
  };
}

async function run({ rounds, progress }: BenchContext): Promise<BenchResult> {
  const minutes: Minute[] = [];
  let perSecond = 0;
  await withChildren([startChild("sink", [String(FAILURE_SHARE)])], async ({ ready }) =>
    withTemporaryFolder(async (folder) => {
      const path = join(folder, "soak.db");
      const urls = [`http://127.0.0.1:${ready as number}/`];
      // What has ended is kept for a minute, so that the file comes to rest within the run.
      const sender = await openSender({ urls, path, keepFor: "1m", retry: { firstDelayMs: 1_000 } });
      progress("soak, measuring the maximum");
      perSecond = await halfOfMaximum(sender);
      progress(`soak, ${perSecond} calls a second`);
      const load = new SteadyLoad(sender, perSecond);
      for (let minute = 1; minute <= rounds(MINUTES); minute += 1) {
        minutes.push(await measureMinute(load, path));
        progress(`minute ${minute} at ${perSecond}/s: ${JSON.stringify(minutes.at(-1))}`);
      }
      load.close();
      await sender.close();
    }),
  );
  const valuesOfMinutes = (name: keyof Minute): number[] => minutes.map((minute) => minute[name]);
  const points = (name: keyof Minute): [number, number][] =>
    minutes.map((minute, index) => [index + 1, minute[name]]);
  const title = `${minutes.length} minutes at ${perSecond.toLocaleString("en")} calls a second, 5 % failing`;
  return {
    rows: [
      growthOf("memory", "MB", valuesOfMinutes("memory")),
      growthOf("file", "MB", valuesOfMinutes("file")),
      growthOf("call to stored, p99", "ms", valuesOfMinutes("acceptP99")),
      growthOf("call to delivery, p90", "ms", valuesOfMinutes("deliveryP90")),
    ],
    charts: [
      {
        name: "soak-space",
        title,
        x: { label: "minutes" },
        y: { label: "MB" },
        series: [
          { name: "memory of the process", points: points("memory") },
          { name: "file of the store", points: points("file") },
        ],
      },
      {
        name: "soak-time",
        title,
        x: { label: "minutes" },
        y: { label: "ms" },
        series: [
          { name: "call to stored, p99", points: points("acceptP99") },
          { name: "call to delivery, p90", points: points("deliveryP90") },
        ],
      },
    ],
  };
}

export const soak: Bench = {
  name: "soak",
  about: "ten minutes at half of the maximum with 5 % failures: whether memory, file and times stay level",
  kind: "soak",
  run,
};
