import { type Account, type Place, printMore, untilSettled } from "../support/account.ts";
import { acceptAll, FleetNode } from "../support/fleet.ts";
import { startProxy } from "../support/proxy.ts";
import { startTally } from "../support/tally.ts";

/** What is in a command, and the name that it is prepared under: to accept, to claim, to settle. */
const COMMANDS = [
  { texts: ["new_message AS", "accept_"], by: "node" },
  // What another process accepts has to be claimed.
  { texts: ["picked AS", "claim_"], by: "ingest" },
  { texts: ["postponed AS", "settle_"], by: "node" },
] as const;

/** How much. */
export interface BreakConnectionsOptions {
  /** With each kind of trouble. */
  readonly messages: number;
  /** Commands of each kind whose answer is lost. */
  readonly cuts: number;
}

/** What came of it. */
export interface BrokenConnections {
  readonly account: Account;
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
  const load = async (during: () => Promise<void> | void, by = node): Promise<Account> => {
    const loading = acceptAll(by, messages, accepted, first);
    first += messages;
    await during();
    await loading;
    return untilSettled(place, accepted, tally);
  };
  const done: number[] = [];
  for (const { texts, by } of COMMANDS) {
    const cut = proxy.cutBeforeAnswer(texts, cuts);
    await load(() => {}, by === "ingest" ? ingest : node);
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
  for (const one of [node, other, ingest]) await one.close();
  return { account, cuts: done };
}
