import { join } from "node:path";
import { setTimeout as wait } from "node:timers/promises";
import type { Sender } from "@countersign/sender";
import type { Bench } from "../harness/bench.ts";
import { median, quantile } from "../harness/statistics.ts";
import type { Row } from "../harness/row.ts";
import { trackOrder } from "../support/calls.ts";
import { startChild, withChildren } from "../support/child.ts";
import { openSender } from "../support/forwarders.ts";
import { withTemporaryFolder } from "../support/temporary-folder.ts";

const PER_SECOND = 1_000;
const SECONDS = 8;
const WARM_UP_SECONDS = 2;

/** Milliseconds from the moment a call was due, for each call. */
interface Latencies {
  readonly accepted: readonly number[];
  readonly delivered: readonly number[];
}

/**
 * Makes calls at a steady rate, whatever becomes of them, and times each from the moment it was due: a sender that
 * stands still for a while is late for every call of that while, not for one.
 */
async function atSteadyRate(sender: Sender, seconds: number): Promise<Latencies> {
  const count = PER_SECOND * seconds;
  const dueAt = new Map<string, number>();
  const [accepted, delivered]: [number[], number[]] = [[], []];
  // A delivery can end before the call that it comes from has resolved.
  const early = new Map<string, number>();
  const onDelivered = ({ delivery }: { delivery: { messageId: string } }): void => {
    const due = dueAt.get(delivery.messageId);
    if (due === undefined) early.set(delivery.messageId, performance.now());
    else delivered.push(performance.now() - due);
  };
  sender.on("delivered", onDelivered);
  const start = performance.now();
  const call = async (index: number): Promise<void> => {
    const due = start + (index / PER_SECOND) * 1_000;
    const { messageId } = await trackOrder(sender, index);
    accepted.push(performance.now() - due);
    const ended = early.get(messageId);
    if (ended === undefined) dueAt.set(messageId, due);
    else delivered.push(ended - due);
  };
  const calls: Promise<void>[] = [];
  while (calls.length < count) {
    const elapsed = performance.now() - start;
    const wanted = Math.min(Math.floor((elapsed / 1_000) * PER_SECOND), count);
    while (calls.length < wanted) calls.push(call(calls.length));
    await wait(1);
  }
  await Promise.all(calls);
  await sender.idle();
  sender.off("delivered", onDelivered);
  return { accepted, delivered };
}

/** The middle of the rounds' p99s, and the most that it may be. */
function rowOf(what: string, p99s: readonly number[], most: number): Row {
  return {
    what: `sender at 1,000/s, ${what}, p99`,
    against: "a fixed bound",
    unit: "ms",
    ours: median(p99s),
    target: { of: "ours", is: "at most", value: most },
  };
}

export const latency: Bench = {
  name: "latency",
  about: "the slowest 1 % of calls and deliveries, at 1,000 calls a second into the file store",
  run: ({ rounds, progress }) =>
    withChildren([startChild("sink")], async ({ ready }) =>
      withTemporaryFolder(async (folder) => {
        const sender = await openSender([`http://127.0.0.1:${ready as number}/`], join(folder, "latency.db"));
        const [accepted, delivered]: [number[], number[]] = [[], []];
        await atSteadyRate(sender, WARM_UP_SECONDS);
        for (let round = 0; round < rounds(3); round += 1) {
          progress(`latency, ${SECONDS} s at ${PER_SECOND} calls a second`);
          const latencies = await atSteadyRate(sender, SECONDS);
          accepted.push(quantile(latencies.accepted, 0.99));
          delivered.push(quantile(latencies.delivered, 0.99));
        }
        await sender.close();
        return { rows: [rowOf("call to delivery", delivered, 25), rowOf("call to stored", accepted, 10)] };
      }),
    ),
};
