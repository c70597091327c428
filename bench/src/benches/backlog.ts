import { join } from "node:path";
import type { Bench } from "../harness/bench.ts";
import { alternate } from "../harness/contest.ts";
import { atLeast, compare } from "../harness/row.ts";
import { pile, withBacklog } from "../support/backlog.ts";
import { withTemporaryFolder } from "../support/temporary-folder.ts";

const BACKLOGS = [10, 10_000, 1_000_000];
const MESSAGES = 5_000;

export const backlog: Bench = {
  name: "backlog",
  about: "whether a sender slows down with what is pending",
  run: ({ rounds, progress }) =>
    withTemporaryFolder(async (folder) => {
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
      return { rows };
    }),
};
