import { setTimeout as pause } from "node:timers/promises";
import { type Account, type Place, untilSettled } from "../support/account.ts";
import { acceptAll, FleetNode } from "../support/fleet.ts";
import type { TestPostgres } from "../support/start-postgres.ts";
import { startTally } from "../support/tally.ts";

/** How long, and how much. */
export interface StopDatabaseOptions {
  /** Before the stop, and again after it. */
  readonly messages: number;
  readonly leaseSeconds: number;
}

/** Every process of PostgreSQL is suspended for two leases at least, until the processes say that it is away. */
export async function stopDatabase(
  server: TestPostgres,
  place: Place,
  { messages, leaseSeconds }: StopDatabaseOptions,
): Promise<Account> {
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
  server.signal("SIGCONT");
  await loading;
  await acceptAll(first, messages, accepted, messages);
  const account = await untilSettled(place, accepted, tally);
  for (const node of nodes) await node.close();
  return account;
}
