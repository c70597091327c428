import { type Account, type Place, printMore, untilSettled } from "../support/account.ts";
import { acceptAll, FleetNode } from "../support/fleet.ts";
import type { TestPostgres } from "../support/start-postgres.ts";
import { startTally } from "../support/tally.ts";
import { until } from "../support/until.ts";

/** What came of it. */
export interface KilledDatabase {
  readonly account: Account;
  /** After each start of the database, when something new was accepted and delivered, in milliseconds. */
  readonly backAfterMs: readonly number[];
}

const AT_ONCE = 10;

/** PostgreSQL is killed under load, and started again. */
export async function killDatabase(
  server: TestPostgres,
  place: Place,
  { messages, kills }: { readonly messages: number; readonly kills: number },
): Promise<KilledDatabase> {
  const tally = await startTally();
  const start = (role: "both" | "worker"): Promise<FleetNode> =>
    FleetNode.start({ ...place, role, lease: "2s", to: tally.url });
  const [node, other] = [await start("both"), await start("worker")];
  const accepted = new Set<string>();
  const backAfterMs: number[] = [];
  const killing = { isOver: false };

  async function kill(): Promise<void> {
    for (let turn = 0; turn < kills; turn += 1) {
      const enough = accepted.size + messages / (kills + 2);
      await until("some were accepted", () => accepted.size >= enough);
      server.signal("SIGKILL");
      await until("the server is gone", () => !isAlive(server.pid()));
      const acceptedBefore = accepted.size;
      await server.start();
      const startedAt = performance.now();
      const isBack = (): boolean => [...accepted].slice(acceptedBefore).some((id) => tally.arrivals.has(id));
      await until("something new is accepted and delivered", isBack);
      backAfterMs.push(Math.round(performance.now() - startedAt));
    }
  }

  /** The load lasts as long as the kills. */
  async function load(): Promise<void> {
    for (let first = 0; first < messages || !killing.isOver; first += AT_ONCE)
      await acceptAll(node, AT_ONCE, accepted, first);
  }

  await Promise.all([load(), kill().finally(() => (killing.isOver = true))]);
  const account = await untilSettled(place, accepted, tally);
  printMore(`the database was killed ${kills} times; back after ${backAfterMs.join(", ")} ms`);
  for (const one of [node, other]) await one.close();
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
