import { createTransport } from "@countersign/sender";
import { Pool } from "undici";
import type { Bench } from "../harness/bench.ts";
import { alternate } from "../harness/contest.ts";
import { atLeast, compare } from "../harness/row.ts";
import { startChild, withChildren } from "../support/child.ts";
import { perSecond } from "../support/forwarders.ts";
import { requestOf } from "../support/receiver-load.ts";
import { signedMessage } from "../support/messages.ts";

const ATTEMPTS = 5_000;
const AT_ONCE = 20;

/** Attempts a second, some at a time. */
function rateOf(attempt: () => Promise<unknown>): Promise<number> {
  let left = ATTEMPTS;
  const strand = async (): Promise<void> => {
    while (left > 0) {
      left -= 1;
      await attempt();
    }
  };
  return perSecond(ATTEMPTS, () => Promise.all(Array.from({ length: AT_ONCE }, strand)));
}

export const transport: Bench = {
  name: "transport",
  about: "what the sender's checks of addresses, limits and answers cost an attempt",
  run: ({ rounds, progress }) =>
    withChildren([startChild("sink")], async ({ ready }) => {
      const url = `http://127.0.0.1:${ready as number}/`;
      const { body, headers } = requestOf(signedMessage(1_000));
      const ours = createTransport();
      const pool = new Pool(url);
      const bare = async (): Promise<void> => {
        const response = await pool.request({ method: "POST", path: "/", headers, body });
        await response.body.arrayBuffer();
      };
      try {
        progress("transport, 20 attempts at once");
        const contenders = [
          {
            name: "ours",
            measure: () => rateOf(() => ours.send({ url, headers, body }, { timeoutMs: 5_000 })),
          },
          { name: "undici", measure: () => rateOf(bare) },
        ];
        const measured = await alternate(contenders, { rounds: rounds(9), warmups: 2 });
        const versus = { what: "transport of the sender, an attempt", against: "undici", unit: "attempts/s" };
        const target = atLeast(0.9);
        return { rows: [compare(measured, { ...versus, ours: "ours", theirs: "undici", target })] };
      } finally {
        await ours.close();
        await pool.destroy();
      }
    }),
};
