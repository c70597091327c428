import { join } from "node:path";
import type { Bench } from "../harness/bench.ts";
import type { Row } from "../harness/row.ts";
import { median, quantile } from "../harness/statistics.ts";
import { startChild, withChildren } from "../support/child.ts";
import { openSender } from "../support/forwarders.ts";
import { SteadyLoad } from "../support/steady-load.ts";
import { withTemporaryFolder } from "../support/temporary-folder.ts";

const PER_SECOND = 1_000;
const SECONDS = 8;
const WARM_UP_SECONDS = 2;

/** The middle of the rounds' p99s, and the most that it may be. */
function rowOf(what: string, p99s: readonly number[], most: number): Row {
  return {
    what: `sender at 1,000/s, ${what}, p99`,
    against: "a fixed bound",
    unit: "ms",
    ours: median(p99s),
    target: { of: "ours", is: "at most", value: most },
  };
}

export const latency: Bench = {
  name: "latency",
  about: "the slowest 1 % of calls and deliveries, at 1,000 calls a second into the file store",
  run: ({ rounds, progress }) =>
    withChildren([startChild("sink")], async ({ ready }) =>
      withTemporaryFolder(async (folder) => {
        const path = join(folder, "latency.db");
        const sender = await openSender({ urls: [`http://127.0.0.1:${ready as number}/`], path });
        const load = new SteadyLoad(sender, PER_SECOND);
        const [accepted, delivered]: [number[], number[]] = [[], []];
        await load.run(WARM_UP_SECONDS);
        await sender.idle();
        load.take();
        for (let round = 0; round < rounds(3); round += 1) {
          progress(`latency, ${SECONDS} s at ${PER_SECOND} calls a second`);
          await load.run(SECONDS);
          await sender.idle();
          const latencies = load.take();
          accepted.push(quantile(latencies.accepted, 0.99));
          delivered.push(quantile(latencies.delivered, 0.99));
        }
        await sender.close();
        return { rows: [rowOf("call to delivery", delivered, 25), rowOf("call to stored", accepted, 10)] };
      }),
    ),
};
