import { setTimeout as pause } from "node:timers/promises";
import { type Account, type Place, untilSettled } from "../support/account.ts";
import { acceptAll, FleetNode, type NodeMessage } from "../support/fleet.ts";
import type { TestPostgres } from "../support/start-postgres.ts";
import { startTally } from "../support/tally.ts";
import { unexplainedRepeats } from "../support/unexplained-repeats.ts";

/** How long, and how much. */
export interface StopDatabaseOptions {
  /** Before the stop, and again after it. */
  readonly messages: number;
  readonly leaseSeconds: number;
}

/** What came of it. */
export interface StoppedDatabase {
  readonly account: Account;
  readonly unexplained: readonly string[];
  /** Whether one process was so late when the database was back, as on a busy machine, that the other one may have taken it for dead. */
  readonly isLate: boolean;
}

/** Less than the time after which a lease that is over counts as such, if it is one of three seconds or more. */
const LATE_MS = 400;

/** How much later one process was back than the other, or for how long it was held up since then, in milliseconds. */
function latestOf(told: readonly (readonly NodeMessage[])[]): number {
  const backAt = told.map((messages) => messages.find(({ state }) => state === "up")?.at ?? 0);
  const heldUp = told.flat().flatMap(({ kind, ms = 0 }) => (kind === "heldUp" ? [ms] : []));
  return Math.max(...backAt) - Math.min(...backAt) + Math.max(0, ...heldUp);
}

/** Every process of PostgreSQL is suspended for two leases at least, until the processes say that it is away. */
export async function stopDatabase(
  server: TestPostgres,
  place: Place,
  { messages, leaseSeconds }: StopDatabaseOptions,
): Promise<StoppedDatabase> {
  const tally = await startTally();
  const start = (role: "both" | "worker"): Promise<FleetNode> =>
    FleetNode.start({ ...place, role, lease: `${leaseSeconds}s`, to: tally.url });
  const nodes = [await start("both"), await start("worker")] as const;
  const accepted = new Set<string>();
  // It is stopped in the middle of this load.
  const loading = acceptAll(nodes[0], messages, accepted);
  const [first] = nodes;
  await first.waitFor(({ kind }) => kind === "delivered");
  server.signal("SIGSTOP");
  const stoppedAt = performance.now();
  for (const node of nodes) await node.waitFor(({ state }) => state === "down");
  // Leases of seconds are over before the processes say that the database is away.
  await pause(Math.max(leaseSeconds * 2_000 - (performance.now() - stoppedAt), 0));
  const heard = nodes.map((node) => node.messages.length);
  server.signal("SIGCONT");
  await loading;
  await acceptAll(first, messages, accepted, messages);
  const account = await untilSettled(place, accepted, tally);
  for (const node of nodes) await node.close();
  const isLate = latestOf(nodes.map(({ messages }, index) => messages.slice(heard[index]))) > LATE_MS;
  return { account, unexplained: unexplainedRepeats(tally, nodes), isLate };
}
