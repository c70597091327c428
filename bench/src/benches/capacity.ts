import type { Bench } from "../harness/bench.ts";
import { ratioAgainst } from "../support/capacity.ts";
import type { Row } from "../harness/row.ts";

/** Deliveries a second in all. */
const RATE = 1_000_000;

/** Deliveries a second that one database is assumed to take (docs/scaling.md). */
const OF_ONE = 3_000;
const SOURCES = 100_000;

function rowOf(databases: number): Row {
  const busiest = ratioAgainst({ rate: RATE, ofOne: OF_ONE, sources: SOURCES, databases });
  return {
    what: `busiest of ${databases} databases, ${SOURCES.toLocaleString("en")} sources`,
    against: "what one database is assumed to take (simulated)",
    unit: "of its rate",
    ours: busiest,
  };
}

/** Not measured: the capacity model of docs/scaling.md, simulated with the rate that it assumes of one database. */
export const capacity: Bench = {
  name: "capacity",
  about:
    "how full the busiest database is when sources of unequal size are divided among many (a simulation)",
  run: async () => ({ rows: [334, 450, 600].map(rowOf) }),
};
