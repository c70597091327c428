import { join } from "node:path";
import { createServer } from "@countersign/server";
import type { Bench } from "../harness/bench.ts";
import { alternate } from "../harness/contest.ts";
import { atLeast, compare } from "../harness/row.ts";
import { deliveredBy } from "../support/calls.ts";
import { startChild, withChildren } from "../support/child.ts";
import { forwarding, openSender, perSecond } from "../support/forwarders.ts";
import { SECRET } from "../support/messages.ts";
import { withTemporaryFolder } from "../support/temporary-folder.ts";

const BATCH = 20;
const BATCHES = 200;
/** What a destination of the server has. */
const CONCURRENCY = 20;

export const ingestion: Bench = {
  name: "ingestion",
  about: "calls a second posted to /v1/batch, stored and delivered, against the sender called directly",
  run: ({ rounds, progress }) =>
    withChildren([startChild("sink")], async ({ ready }) =>
      withTemporaryFolder(async (folder) => {
        const to = `http://127.0.0.1:${ready as number}/`;
        const server = await createServer({ to, secret: SECRET, port: 0, data: join(folder, "server") });
        const sender = await openSender({
          urls: [to],
          path: join(folder, "sender.db"),
          concurrency: CONCURRENCY,
        });
        try {
          return await withChildren([startChild("poster", [server.url])], async (poster) => {
            progress("ingestion, in batches of 20");
            const calls = BATCH * BATCHES;
            const overHttp = {
              name: "server",
              measure: () =>
                perSecond(calls, async () => {
                  const delivered = deliveredBy(server.sender, calls);
                  await poster.ask({ batches: BATCHES, size: BATCH });
                  await delivered;
                }),
            };
            const measured = await alternate([overHttp, forwarding("sender", sender, calls)], {
              rounds: rounds(7),
              warmups: 2,
            });
            const row = compare(measured, {
              what: "ingestion, /v1/batch of 20, file store",
              against: "the sender called directly",
              unit: "msg/s",
              ours: "server",
              theirs: "sender",
              target: atLeast(0.7),
            });
            return { rows: [row] };
          });
        } finally {
          await sender.close();
          await server.close();
        }
      }),
    ),
};
