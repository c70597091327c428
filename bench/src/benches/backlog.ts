import { join } from "node:path";
import type { Bench, BenchContext } from "../harness/bench.ts";
import { alternate } from "../harness/contest.ts";
import { atLeast, compare, type Row } from "../harness/row.ts";
import { pile, withBacklog, withKept } from "../support/backlog.ts";
import { withTemporaryFolder } from "../support/temporary-folder.ts";

const BACKLOGS = [10, 10_000, 1_000_000];
const MESSAGES = 5_000;
/** Ended deliveries in memory: at first those of the rounds, and three hundred thousand. */
const KEPT = [0, 300_000];

/** Whether a sender in memory slows down with what it keeps of deliveries that have ended. */
async function inMemory({ rounds, progress }: BenchContext): Promise<Row> {
  progress("backlog, what is kept in memory");
  const opened = [];
  for (const kept of KEPT) opened.push(await withKept(String(kept), kept, MESSAGES));
  try {
    const measured = await alternate(
      opened.map(({ contender }) => contender),
      { rounds: rounds(7), warmups: 2 },
    );
    return compare(measured, {
      what: `sender with ${KEPT[1]?.toLocaleString("en")} ended in memory`,
      against: "with none",
      unit: "msg/s",
      ours: String(KEPT[1]),
      theirs: String(KEPT[0]),
      // Indexes of so many are deeper, so that it is not one.
      target: atLeast(0.75),
    });
  } finally {
    for (const { close } of opened) await close();
  }
}

export const backlog: Bench = {
  name: "backlog",
  about: "whether a sender slows down with what is pending, or with what it keeps in memory",
  run: (context) =>
    withTemporaryFolder(async (folder) => {
      const { rounds, progress } = context;
      const contenders = [];
      for (const pending of BACKLOGS) {
        const path = join(folder, `${pending}.db`);
        progress(`backlog, storing ${pending}`);
        await pile(path, pending);
        contenders.push(withBacklog(String(pending), path, pending, MESSAGES));
      }
      progress("backlog, accepting and delivering in turns");
      const measured = await alternate(contenders, { rounds: rounds(7) });
      const rows = BACKLOGS.slice(1).map((pending) =>
        compare(measured, {
          what: `sender with ${pending.toLocaleString("en")} pending`,
          against: "with 10 pending",
          unit: "msg/s",
          ours: String(pending),
          theirs: String(BACKLOGS[0]),
          target: atLeast(0.9),
        }),
      );
      return { rows: [...rows, await inMemory(context)] };
    }),
};
