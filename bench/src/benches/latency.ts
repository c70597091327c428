import { join } from "node:path";
import type { Bench } from "../harness/bench.ts";
import type { Row } from "../harness/row.ts";
import { startChild, withChildren } from "../support/child.ts";
import { openSender } from "../support/forwarders.ts";
import { steadyP99 } from "../support/steady-load.ts";
import { withTemporaryFolder } from "../support/temporary-folder.ts";

const WARM_UP_SECONDS = 2;

function rowOf(what: string, p99: number, most: number): Row {
  return {
    what: `sender at 1,000/s, ${what}, p99`,
    against: "a fixed bound",
    unit: "ms",
    ours: p99,
    target: { of: "ours", is: "at most", value: most },
  };
}

export const latency: Bench = {
  name: "latency",
  about: "the slowest 1 % of calls and deliveries, at 1,000 calls a second into the file store",
  run: (context) =>
    withChildren([startChild("sink")], async ({ ready }) =>
      withTemporaryFolder(async (folder) => {
        const path = join(folder, "latency.db");
        const sender = await openSender({ urls: [`http://127.0.0.1:${ready as number}/`], path });
        const { accepted, delivered } = await steadyP99(sender, "latency", WARM_UP_SECONDS, context);
        await sender.close();
        return { rows: [rowOf("call to delivery", delivered, 25), rowOf("call to stored", accepted, 10)] };
      }),
    ),
};
