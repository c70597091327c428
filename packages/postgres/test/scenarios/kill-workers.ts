import { setTimeout as pause } from "node:timers/promises";
import { type Account, type Place, printMore, untilSettled } from "../support/account.ts";
import { acceptUntilAnswered, FleetNode } from "../support/fleet.ts";
import { ask } from "../support/start-postgres.ts";
import { startTally } from "../support/tally.ts";
import { type Span, unexplainedRepeats } from "../support/unexplained-repeats.ts";
import { until } from "../support/until.ts";
import { WorkerWatch } from "../support/watch-workers.ts";

/** How much is killed. */
export interface KillWorkersOptions {
  readonly messages: number;
  /** For how long a process is killed every 1.5 s. */
  readonly forMs: number;
  readonly lease: string;
}

/** What came of it. */
export interface KilledWorkers {
  readonly account: Account;
  readonly kills: number;
  /**
   * How many repeats those processes explain that were killed while they delivered, as many as they may have had under way, and those that
   * have told that claims were lost.
   */
  readonly mostRepeats: number;
  /** Messages that arrived again although they had been settled, or although nobody who delivered was killed meanwhile. */
  readonly unexplained: readonly string[];
  /** How long the claims of a killed process were held at most, after it last extended its lease, in milliseconds. */
  readonly longestHeldMs: number;
}

const KILL_EVERY_MS = 1_500;
const AT_ONCE = 10;
const CLIENTS = 5;
/** The default of the command. */
const CONCURRENCY = 20;
const ROLES = ["ingest", "ingest", "worker", "worker", "worker"] as const;

/** Two processes accept and three deliver; one of the five is killed every 1.5 s, and replaced. */
export async function killWorkers(
  place: Place,
  { messages, forMs, lease }: KillWorkersOptions,
): Promise<KilledWorkers> {
  const tally = await startTally();
  const accepted = new Set<string>();
  const start = (role: "ingest" | "worker"): Promise<FleetNode> =>
    FleetNode.start({ ...place, role, lease, concurrency: CONCURRENCY, to: tally.url });
  const nodes = await Promise.all(ROLES.map(start));
  const everyone = [...nodes];
  const killed: Span[] = [];
  const watch = new WorkerWatch(place);
  const endsAt = performance.now() + forMs;
  let kills = 0;

  /** One of several clients, which send to both. */
  async function load(client: number): Promise<void> {
    const own = messages / CLIENTS;
    for (let from = client * own; from < (client + 1) * own; from += AT_ONCE) {
      // A client repeats what was not answered, with the same ids, wherever it is accepted.
      await acceptUntilAnswered(
        () => [nodes[client % 2], nodes[(client + 1) % 2]].find(isReady),
        from,
        AT_ONCE,
      );
      for (let index = from; index < from + AT_ONCE; index += 1) accepted.add(`m${index}`);
      // The load lasts as long as the kills.
      const left = endsAt - performance.now();
      await pause(Math.max((left * AT_ONCE) / ((client + 1) * own - from), 0));
    }
  }

  const isRunning = (position: number): boolean => nodes[position]?.hasEnded === false;

  async function killOneAfterAnother(): Promise<void> {
    const replacing: Promise<void>[] = [];
    for (let turn = 0; performance.now() < endsAt - KILL_EVERY_MS; turn += 1) {
      await pause(KILL_EVERY_MS);
      // One that has not even started is not killed twice.
      const position = ROLES.map((_, index) => (turn * 2 + index) % ROLES.length).find(isRunning);
      if (position === undefined) continue;
      const from = Date.now();
      await nodes[position]?.kill();
      kills += 1;
      const role = ROLES[position] ?? "worker";
      if (role === "worker") killed.push({ from, to: Date.now() });
      const replace = (node: FleetNode): void => {
        nodes[position] = node;
        everyone.push(node);
      };
      replacing.push(start(role).then(replace));
    }
    await Promise.all(replacing);
  }

  const clients = Array.from({ length: CLIENTS }, (_, client) => load(client));
  await Promise.all([...clients, killOneAfterAnother()]);
  const account = await untilSettled(place, accepted, tally);
  await until("the killed ones are out of the list", () => watch.count === nodes.length);
  await watch.stop();
  await assertNothingIsHeld(place);
  const longestHeldMs = Math.round(Math.max(0, ...watch.held));
  printMore(`${kills} kills; claims were held for at most ${longestHeldMs} ms with a lease of ${lease}`);
  for (const node of nodes) await node.close();
  const unexplained = unexplainedRepeats(tally, everyone, killed);
  const lost = everyone.flatMap((node) => node.told("lost")).length;
  return { account, kills, mostRepeats: killed.length * CONCURRENCY + lost, unexplained, longestHeldMs };
}

/** A load balancer sends nothing to one that has ended. */
function isReady(node: FleetNode | undefined): boolean {
  return node !== undefined && !node.hasEnded;
}

/** Whoever is not in the list has no claims. */
async function assertNothingIsHeld({ url, schema }: Place): Promise<void> {
  const [row] = await ask<{ count: number }>(
    url,
    `SELECT count(*)::int AS count FROM ${schema}.delivery WHERE worker IS NOT NULL AND worker NOT IN (SELECT id FROM ${schema}.worker)`,
  );
  if (row?.count !== 0) throw new Error(`${row?.count} deliveries are claimed by nobody.`);
}
