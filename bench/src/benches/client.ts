import type { Bench } from "../harness/bench.ts";
import { alternate, type Contender } from "../harness/contest.ts";
import { atLeast, atMost, compare, type Row, type Target } from "../harness/row.ts";
import { startChild, withChildren, type Child } from "../support/child.ts";

const LIBRARIES = ["countersign", "segment", "posthog", "rudder"];
const PEERS = [
  { library: "segment", against: "@segment/analytics-node" },
  { library: "posthog", against: "posthog-node" },
  { library: "rudder", against: "@rudderstack/rudder-sdk-node" },
];

/** A figure that every library is asked for. */
interface Figure {
  /** What `children/recorder.ts` calls it. */
  readonly ask: "call" | "out" | "memory";
  readonly what: string;
  readonly unit: string;
  readonly rounds: number;
  readonly warmups: number;
  readonly target: Target;
}

const FIGURES: readonly Figure[] = [
  {
    ask: "call",
    what: "client, a call",
    unit: "µs",
    rounds: 9,
    warmups: 4,
    target: atMost(0.5),
  },
  {
    ask: "out",
    what: "client, 20,000 events out",
    unit: "events/s",
    rounds: 5,
    warmups: 1,
    target: atLeast(8),
  },
  {
    ask: "memory",
    what: "client, memory of a queued event",
    unit: "bytes",
    rounds: 5,
    warmups: 0,
    target: atMost(0.2),
  },
];

function startRecorder(library: string, url: string): Promise<Child> {
  return startChild("recorder", [library, url], { nodeOptions: ["--expose-gc"] });
}

/** The libraries as contenders. Memory is measured in a new process each time: an old one has garbage of its own. */
function contendersOf({ ask }: Figure, children: readonly Child[], url: string): Contender[] {
  return LIBRARIES.map((name, index) => ({
    name,
    measure: () =>
      ask === "memory"
        ? withChildren([startRecorder(name, url)], (child) => child.ask(ask) as Promise<number>)
        : ((children[index] as Child).ask(ask) as Promise<number>),
  }));
}

export const client: Bench = {
  name: "client",
  about: "a call, 20,000 events out, and memory, against the published client libraries",
  run: ({ rounds, progress }) =>
    withChildren([startChild("service")], ({ ready }) => {
      const url = ready as string;
      return withChildren(
        LIBRARIES.map((library) => startRecorder(library, url)),
        async (...children) => {
          const rows: Row[] = [];
          for (const figure of FIGURES) {
            const { what, unit, target, warmups } = figure;
            progress(what);
            const contenders = contendersOf(figure, children, url);
            const measured = await alternate(contenders, { rounds: rounds(figure.rounds), warmups });
            for (const { library, against } of PEERS)
              rows.push(
                compare(measured, { what, against, unit, ours: "countersign", theirs: library, target }),
              );
          }
          return { rows };
        },
      );
    }),
};
