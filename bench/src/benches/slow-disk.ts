import { execFileSync } from "node:child_process";
import { join } from "node:path";
import type { Bench, BenchContext } from "../harness/bench.ts";
import { alternate, type Contender } from "../harness/contest.ts";
import { compare, type Row, type Target } from "../harness/row.ts";
import { median } from "../harness/statistics.ts";
import { startChild, withChildren, type Child } from "../support/child.ts";
import { withTemporaryFolder } from "../support/temporary-folder.ts";

const MESSAGES = 5_000;
const ROUNDS = 5;
const SYNCS = "fsync,fdatasync";
const DELAYS_MS = [0, 5];

/** What the row is about, whether it is measured or not. */
const ROW = {
  what: "sender, file store, a disk that syncs 5 ms later",
  against: "itself, on the disk as it is",
  unit: "msg/s",
};

/** How much of the time the process is held up that records events. */
const BUSY = {
  what: "sender, file store, 100 calls/s, a disk that syncs 5 ms later, event loop",
  against: "a fixed bound",
  unit: "% busy",
};
const MOST_BUSY = 20;
const BUSY_ROUNDS = 3;

/** A command that runs another one, each of whose syncs ends so much later. Nothing else that it does is traced. */
function withSyncsDelayed(milliseconds: number): readonly string[] {
  const delay = `inject=${SYNCS}:delay_exit=${milliseconds * 1_000}`;
  const trace = ["-f", "--seccomp-bpf", "-qqq", "-o", "/dev/null", "-e", `trace=${SYNCS}`];
  return ["strace", ...trace, "-e", delay];
}

function canTrace(): boolean {
  try {
    execFileSync("strace", ["-o", "/dev/null", "true"], { stdio: "ignore" });
    return true;
  } catch {
    return false;
  }
}

function nameOf(milliseconds: number): string {
  return `syncs ${milliseconds} ms later`;
}

function contenderOf(child: Child, milliseconds: number): Contender {
  return { name: nameOf(milliseconds), measure: async () => (await child.ask("measure")) as number };
}

/** A sender whose disk is as it is and one whose disk is slower, both traced. */
async function measured(url: string, folder: string, { rounds }: BenchContext): Promise<Row[]> {
  const senders = DELAYS_MS.map((milliseconds) =>
    startChild("forwarder", [url, join(folder, `${milliseconds}.db`), String(MESSAGES)], {
      through: withSyncsDelayed(milliseconds),
    }),
  );
  return withChildren(senders, async (...children) => {
    const contenders = children.map((child, index) => contenderOf(child, DELAYS_MS[index] as number));
    const figures = await alternate(contenders, { rounds: rounds(ROUNDS), warmups: 2 });
    const row = compare(figures, { ...ROW, ours: nameOf(5), theirs: nameOf(0) });
    const shares: number[] = [];
    for (let round = 0; round < rounds(BUSY_ROUNDS); round += 1)
      shares.push((await children.at(-1)?.ask("busy")) as number);
    const target: Target = { of: "ours", is: "at most", value: MOST_BUSY };
    return [row, { ...BUSY, ours: median(shares) * 100, target }];
  });
}

export const slowDisk: Bench = {
  name: "slow-disk",
  about:
    "messages a second into the file store, and how busy its process is, when each sync of the disk takes 5 ms longer",
  async run(context) {
    const skipped = "no strace on this machine, or it may not trace";
    if (!canTrace()) return { rows: [ROW, BUSY].map((row) => ({ ...row, skipped })) };
    context.progress("sender, file store, on a slower disk");
    return withChildren([startChild("sink")], ({ ready }) =>
      withTemporaryFolder(async (folder) => {
        return { rows: await measured(`http://127.0.0.1:${ready as number}/`, folder, context) };
      }),
    );
  },
};
