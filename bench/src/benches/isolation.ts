import { createSender, type Sender, type SourceSettings } from "@countersign/sender";
import type { Bench } from "../harness/bench.ts";
import { alternate, type Contender } from "../harness/contest.ts";
import { atLeast, compare } from "../harness/row.ts";
import { deliveredBy, orderCompleted, trackMany } from "../support/calls.ts";
import { startChild, withChildren } from "../support/child.ts";
import { perSecond } from "../support/forwarders.ts";

const MESSAGES = 2_000;

function sourceTo(base: string, path: string): SourceSettings {
  return { name: path, destinations: [{ endpoints: [{ url: base + path }] }] };
}

/** Messages a second to an endpoint that answers, next to one that never answers and gets as many, or nothing. */
function besideSilence(name: string, base: string, isSilent: boolean): Contender {
  return {
    name,
    async measure() {
      const sender = await createSender({ sources: [sourceTo(base, "good"), sourceTo(base, "silent")] });
      try {
        // Every place of the silent destination is taken, and as many messages again wait for one.
        if (isSilent) await trackTo(sender, "silent");
        return await perSecond(MESSAGES, async () => {
          const delivered = deliveredBy(sender, MESSAGES);
          await trackTo(sender, "good");
          await delivered;
        });
      } finally {
        await sender.close({ deadline: 0 });
      }
    },
  };
}

function trackTo(sender: Sender, source: string): Promise<void> {
  return trackMany(MESSAGES, (index) => sender.track(orderCompleted(index), { source }));
}

export const isolation: Bench = {
  name: "isolation",
  about: "what a destination keeps of its throughput while another never answers",
  run: ({ rounds, progress }) =>
    withChildren([startChild("sink", ["0", "/silent"])], async ({ ready }) => {
      progress("isolation, beside a destination that never answers");
      const base = `http://127.0.0.1:${ready as number}/`;
      const contenders = [besideSilence("beside", base, true), besideSilence("alone", base, false)];
      const measured = await alternate(contenders, { rounds: rounds(9) });
      const row = compare(measured, {
        what: "destination next to one that never answers",
        against: "by itself",
        unit: "msg/s",
        ours: "beside",
        theirs: "alone",
        target: atLeast(0.9),
      });
      return { rows: [row] };
    }),
};
