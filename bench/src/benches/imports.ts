import type { Bench } from "../harness/bench.ts";
import { alternate } from "../harness/contest.ts";
import { median } from "../harness/statistics.ts";
import { startChild, withChildren } from "../support/child.ts";
import { withPublished } from "../support/published.ts";

const MOST_MS = 15;
const IMPORTS = [
  {
    what: "import of express with core, beyond express itself",
    modules: ["express", "@countersign/express"],
  },
  { what: "import of the client", modules: ["@countersign/client"] },
];

export const imports: Bench = {
  name: "import",
  about: "the CPU time of importing a published package in a new process",
  run({ rounds, progress }) {
    progress("imports");
    return withPublished(async (folder) => {
      const contenders = IMPORTS.map(({ what, modules }) => ({
        name: what,
        measure: () =>
          withChildren([startChild("importer", [folder, ...modules])], ({ ready }) =>
            Promise.resolve(ready as number),
          ),
      }));
      const measured = await alternate(contenders, { rounds: rounds(15) });
      const rows = [...measured].map(([what, values]) => ({
        what,
        against: "a fixed bound",
        unit: "ms",
        ours: median(values),
        target: { of: "ours", is: "at most", value: MOST_MS } as const,
      }));
      return { rows };
    });
  },
};
