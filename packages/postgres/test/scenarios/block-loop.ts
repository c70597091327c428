import { spawnSync } from "node:child_process";
import { rmSync } from "node:fs";
import { writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { onTestFinished } from "vitest";
import { type Account, type Place, untilSettled } from "../support/account.ts";
import { acceptAll, FleetNode } from "../support/fleet.ts";
import { startTally } from "../support/tally.ts";
import { until } from "../support/until.ts";

/** What came of it. */
export interface BlockedLoop {
  readonly account: Account;
  /** How often each of the messages that were under way arrived. */
  readonly arrivals: readonly number[];
  /** Of the messages that were under way, how often `delivered` was told, by both processes. */
  readonly toldDelivered: number;
  /** Of these, how often the blocked process told `lost`. */
  readonly toldLost: number;
}

const MESSAGES = 10;

/** The loop of a process is blocked for two leases while its attempts are under way; another one takes them over. */
export async function blockLoop(place: Place, leaseSeconds: number): Promise<BlockedLoop> {
  let unblock: () => void = () => {};
  const isUnblocked = new Promise<void>((resolve) => (unblock = resolve));
  const arrived = new Set<string>();
  // The first attempt of each message is under way for as long as the loop is blocked.
  const answerLater = (id: string): Promise<void> => {
    if (arrived.has(id) || arrived.size === MESSAGES) return Promise.resolve();
    arrived.add(id);
    return isUnblocked;
  };
  const tally = await startTally({ after: answerLater });
  const [lease, pipe] = [`${leaseSeconds}s`, newPipe()];
  const blocked = await FleetNode.start({ ...place, role: "both", lease, to: tally.url });
  const accepted = new Set<string>();
  await acceptAll(blocked, MESSAGES, accepted);
  await until("the attempts are under way", () => tally.arrivals.size === MESSAGES);
  blocked.send({ kind: "block", pipe });
  await blocked.waitFor(({ kind }) => kind === "blocking");
  const blockedAt = performance.now();
  // Only now: an attempt ends after five seconds, and to start a process may take longer.
  const other = await FleetNode.start({ ...place, role: "both", lease, to: tally.url });
  await until("the other one has delivered them", () => other.told("delivered").length === MESSAGES);
  // Its claims were taken over; the rest of the two leases passes.
  const left = leaseSeconds * 2_000 - (performance.now() - blockedAt);
  await new Promise((resolve) => setTimeout(resolve, Math.max(left, 0)));
  await writeFile(pipe, "");
  unblock();
  await blocked.waitFor(({ kind }) => kind === "unblocked");
  const isFirst = ({ messageId = "" }): boolean => Number(messageId.slice(1)) < MESSAGES;
  const lost = (): number => blocked.told("lost").filter(isFirst).length;
  await until("it has heard", () => lost() === MESSAGES);
  await acceptAll(blocked, MESSAGES, accepted, MESSAGES);
  const account = await untilSettled(place, accepted, tally);
  const toldDelivered = [blocked, other].flatMap((node) => node.told("delivered").filter(isFirst)).length;
  const toldLost = lost();
  for (const node of [blocked, other]) await node.close();
  const arrivals = [...tally.arrivals].flatMap(([messageId, times]) =>
    isFirst({ messageId }) ? [times.length] : [],
  );
  return { account, arrivals, toldDelivered, toldLost };
}

/** A named pipe: who reads it waits until somebody writes. */
function newPipe(): string {
  const path = join(tmpdir(), `countersign-pipe-${process.pid}-${Math.trunc(performance.now())}`);
  spawnSync("mkfifo", [path]);
  onTestFinished(() => rmSync(path, { force: true }));
  return path;
}
