import { type Account, type Place, untilSettled } from "../support/account.ts";
import { acceptAll, FleetNode } from "../support/fleet.ts";
import { startTally } from "../support/tally.ts";

/** What came of it. */
export interface WrongClock {
  readonly account: Account;
  /** What the process said of its clock. */
  readonly reason: string;
  /** How it answered a call. */
  readonly code: string | undefined;
  /** Deliveries that it made. */
  readonly delivered: number;
  /** The time from the first attempt to the second of the message that waits, in milliseconds; undefined before that. */
  readonly retriedAfterMs: number | undefined;
}

/** The clock of one of two processes is off. One message waits for its next try, which is not to come early. */
export async function wrongClock(place: Place, clockOffsetMs: number): Promise<WrongClock> {
  const tally = await startTally({ answer: (messageId) => (messageId === "m0" ? 503 : 200) });
  const right = await FleetNode.start({ ...place, role: "both", to: tally.url });
  const accepted = new Set<string>();
  await acceptAll(right, 10, accepted);
  await untilSettled(place, accepted, tally, 1);
  const wrong = await FleetNode.start({ ...place, role: "both", to: tally.url, clockOffsetMs });
  const { reason = "" } = await wrong.waitFor(({ state }) => state === "unsafe");
  const refused = await wrong.acceptOrRefuse(1_000, 10);
  await acceptAll(right, 20, accepted, 10);
  const account = await untilSettled(place, accepted, tally, 1);
  // Tries of the one that waits are no repeats. It is tried again at any time.
  const repeats = account.repeats - (tally.arrivals.get("m0") ?? []).slice(1).length;
  const delivered = wrong.told("delivered").length;
  for (const node of [right, wrong]) await node.close();
  const [first = 0, second] = tally.arrivals.get("m0") ?? [];
  const retriedAfterMs = second === undefined ? undefined : second - first;
  return { account: { ...account, repeats }, reason, code: refused?.code, delivered, retriedAfterMs };
}
