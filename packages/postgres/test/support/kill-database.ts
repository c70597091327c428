import {
  acceptUntilAnswered,
  type Account,
  accountOf,
  FleetNode,
  print,
  startTally,
  until,
} from "./fleet.ts";
import type { TestPostgres } from "./start-postgres.ts";

const AT_ONCE = 10;

/** PostgreSQL is killed under load, and started again; says after how long something was delivered again. */
export async function killDatabase(
  server: TestPostgres,
  where: { readonly url: string; readonly schema: string },
  { messages, kills }: { readonly messages: number; readonly kills: number },
): Promise<{ readonly account: Account; readonly backAfterMs: readonly number[] }> {
  const tally = await startTally();
  const nodes = await Promise.all(
    (["both", "worker"] as const).map((role) =>
      FleetNode.start({ ...where, role, lease: "2s", to: tally.url }),
    ),
  );
  const accepted = new Set<string>();
  const backAfterMs: number[] = [];
  let isLoading = true;

  async function load(): Promise<void> {
    for (let from = 0; from < messages; from += AT_ONCE) {
      await acceptUntilAnswered(() => nodes[0], from, AT_ONCE);
      for (let index = from; index < from + AT_ONCE; index += 1) accepted.add(`m${index}`);
      await new Promise((resolve) => setTimeout(resolve, 20));
    }
    isLoading = false;
  }

  async function kill(): Promise<void> {
    for (let kill = 1; kill <= kills; kill += 1) {
      const before = accepted.size;
      await until("some were accepted", () => accepted.size >= before + messages / (kills + 2) || !isLoading);
      server.signal("SIGKILL");
      await until("the server is gone", () => !isAlive(server.pid()));
      const arrived = tally.arrivals.size;
      await server.start();
      const startedAt = performance.now();
      await until("something is delivered again", () => tally.arrivals.size > arrived || !isLoading);
      backAfterMs.push(performance.now() - startedAt);
    }
  }

  await Promise.all([load(), kill()]);
  await until(
    "nothing is pending",
    async () => (await accountOf(where, accepted, tally)).pending === 0,
    60_000,
  );
  const account = await accountOf(where, accepted, tally);
  print(account, `; back after ${backAfterMs.map((ms) => `${Math.round(ms)} ms`).join(", ")}`);
  for (const node of nodes) await node.close();
  return { account, backAfterMs };
}

function isAlive(pid: number | undefined): boolean {
  if (pid === undefined) return false;
  try {
    return process.kill(pid, 0);
  } catch {
    return false;
  }
}
