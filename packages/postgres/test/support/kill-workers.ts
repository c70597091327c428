import {
  acceptUntilAnswered,
  type Account,
  accountOf,
  FleetNode,
  print,
  startTally,
  until,
} from "./fleet.ts";

/** How long and how much. */
export interface KillWorkersOptions {
  readonly messages: number;
  /** For how long a process is killed every 1.5 s. */
  readonly forMs: number;
  readonly lease: string;
}

const KILL_EVERY_MS = 1_500;
const AT_ONCE = 10;

/** Two processes accept and three deliver; one of the five is killed every 1.5 s, and replaced. */
export async function killWorkers(
  where: { readonly url: string; readonly schema: string },
  { messages, forMs, lease }: KillWorkersOptions,
): Promise<Account> {
  const tally = await startTally();
  const start = (role: "ingest" | "worker"): Promise<FleetNode> =>
    FleetNode.start({ ...where, role, lease, to: tally.url });
  const roles = ["ingest", "ingest", "worker", "worker", "worker"] as const;
  const nodes = await Promise.all(roles.map(start));
  const accepted = new Set<string>();
  const endsAt = performance.now() + forMs;

  async function load(position: 0 | 1): Promise<void> {
    const own = messages / 2;
    for (let from = position * own; from < (position + 1) * own; from += AT_ONCE) {
      // A client repeats what was not answered, with the same ids, wherever it is accepted.
      await acceptUntilAnswered(() => nodes[position], from, AT_ONCE);
      for (let index = from; index < from + AT_ONCE; index += 1) accepted.add(`m${index}`);
      const left = endsAt - performance.now();
      await pause(Math.max((left * AT_ONCE) / ((position + 1) * own - from), 0));
    }
  }

  async function killOneAfterAnother(): Promise<void> {
    for (let turn = 0; performance.now() < endsAt - KILL_EVERY_MS; turn += 1) {
      await pause(KILL_EVERY_MS);
      const position = (turn * 2) % nodes.length;
      await nodes[position]?.kill();
      nodes[position] = await start(roles[position] ?? "worker");
    }
  }

  await Promise.all([load(0), load(1), killOneAfterAnother()]);
  await until(
    "everything accepted arrived",
    () => [...accepted].every((id) => tally.arrivals.has(id)),
    60_000,
  );
  await until(
    "nothing is pending",
    async () => (await accountOf(where, accepted, tally)).pending === 0,
    60_000,
  );
  const account = await accountOf(where, accepted, tally);
  print(account);
  for (const node of nodes) await node.close();
  return account;
}

function pause(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms));
}
