import { type Account, type Place, printMore, untilSettled } from "../support/account.ts";
import { acceptAll, FleetNode } from "../support/fleet.ts";
import { startProxy } from "../support/proxy.ts";
import { startTally } from "../support/tally.ts";
import { unexplainedRepeats } from "../support/unexplained-repeats.ts";
import { until } from "../support/until.ts";

/** What is in a command, and the name that it is prepared under: to accept, to claim, to settle. */
const COMMANDS = [
  { texts: ["new_message AS", "accept_"], by: "node" },
  // What another process accepts has to be claimed.
  { texts: ["picked AS", "claim_"], by: "ingest" },
  { texts: ["postponed AS", "settle_"], by: "node" },
] as const;

/** How much. */
export interface BreakConnectionsOptions {
  /** With each kind of trouble, at least. */
  readonly messages: number;
  /** Commands of each kind whose answer is lost. */
  readonly cuts: number;
}

/** What came of it. */
export interface BrokenConnections {
  readonly account: Account;
  readonly unexplained: readonly string[];
  /** How many answers were lost, of each kind of command. */
  readonly cuts: readonly number[];
}

/** Connections of a process break after the request and before the answer, drop, and stall until it says so. */
export async function breakConnections(
  place: Place,
  { messages, cuts }: BreakConnectionsOptions,
): Promise<BrokenConnections> {
  const tally = await startTally();
  const proxy = await startProxy(Number(new URL(place.url).port));
  const lease = "2s";
  const broken = { ...place, url: proxy.url(place.url) };
  const node = await FleetNode.start({ ...broken, role: "both", lease, to: tally.url });
  const other = await FleetNode.start({ ...place, role: "worker", lease, to: tally.url });
  const ingest = await FleetNode.start({ ...place, role: "ingest", lease, to: tally.url });
  const accepted = new Set<string>();
  let first = 0;
  /** The load goes on for as long as something is waited for: on a busy machine, the other process may be the quicker one with all of it. */
  const load = async (during: () => Promise<unknown>, by = node): Promise<Account> => {
    const waited = { isOver: false };
    const waiting = during().finally(() => (waited.isOver = true));
    do {
      await acceptAll(by, messages, accepted, first);
      first += messages;
    } while (!waited.isOver);
    await waiting;
    return untilSettled(place, accepted, tally);
  };
  const done: number[] = [];
  for (const { texts, by } of COMMANDS) {
    const cut = proxy.cutBeforeAnswer(texts, cuts);
    await load(() => until("an answer is lost", () => cut() > 0), by === "ingest" ? ingest : node);
    done.push(cut());
  }
  await load(async () => {
    await node.waitFor(({ kind }) => kind === "delivered", node.messages.length);
    proxy.drop();
  });
  const account = await load(async () => {
    await node.waitFor(({ kind }) => kind === "delivered", node.messages.length);
    // It may still be down since its connections were dropped, and would not say so again.
    await node.waitFor(() => node.told("state").at(-1)?.state === "up");
    const seen = node.messages.length;
    proxy.stall();
    // That is after more than two leases: the other process has taken over what this one had claimed.
    await node.waitFor(({ state }) => state === "down", seen);
    proxy.resume();
  });
  printMore(`answers lost: accept ${done[0]}, claim ${done[1]}, settle ${done[2]}`);
  const nodes = [node, other, ingest];
  for (const one of nodes) await one.close();
  return { account, unexplained: unexplainedRepeats(tally, nodes), cuts: done };
}
