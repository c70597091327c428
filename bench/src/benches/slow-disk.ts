import { execFileSync } from "node:child_process";
import { join } from "node:path";
import type { Bench } from "../harness/bench.ts";
import { alternate, type Contender } from "../harness/contest.ts";
import { compare, type Row } from "../harness/row.ts";
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
async function measured(url: string, folder: string, rounds: number): Promise<Row> {
  const senders = DELAYS_MS.map((milliseconds) =>
    startChild("forwarder", [url, join(folder, `${milliseconds}.db`), String(MESSAGES)], {
      through: withSyncsDelayed(milliseconds),
    }),
  );
  return withChildren(senders, async (...children) => {
    const contenders = children.map((child, index) => contenderOf(child, DELAYS_MS[index] as number));
    const figures = await alternate(contenders, { rounds, warmups: 2 });
    return compare(figures, { ...ROW, ours: nameOf(5), theirs: nameOf(0) });
  });
}

export const slowDisk: Bench = {
  name: "slow-disk",
  about: "messages a second into the file store, when each sync of the disk takes 5 ms longer",
  async run({ rounds, progress }) {
    if (!canTrace()) return { rows: [{ ...ROW, skipped: "no strace on this machine, or it may not trace" }] };
    progress("sender, file store, on a slower disk");
    return withChildren([startChild("sink")], ({ ready }) =>
      withTemporaryFolder(async (folder) => {
        const row = await measured(`http://127.0.0.1:${ready as number}/`, folder, rounds(ROUNDS));
        return { rows: [row] };
      }),
    );
  },
};
