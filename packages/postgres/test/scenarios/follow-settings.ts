import { postgresStore } from "@countersign/postgres";
import { createSender, type Sender } from "@countersign/sender";
import { onTestFinished } from "vitest";
import { type Place, printMore } from "../support/account.ts";
import { startTally } from "../support/tally.ts";
import { happened, until } from "../support/until.ts";

/** What came of it. */
export interface FollowedSettings {
  /** For each change, how long it took until the other sender had it, in milliseconds. */
  readonly followedAfterMs: readonly number[];
  /** How many messages arrived where the newest settings sent them. */
  readonly arrived: number;
}

/** Settings are put on one sender; another one on the same store follows, and sends where they say. */
export async function followSettings(place: Place, times: number): Promise<FollowedSettings> {
  const tallies = [await startTally(), await startTally()] as const;
  const settingsFor = (turn: number) => {
    const url = tallies[turn % 2 === 0 ? 0 : 1].url;
    return { sources: [{ name: "shop", destinations: [{ name: "main", endpoints: [{ url }] }] }] };
  };
  const open = async (
    options: ReturnType<typeof settingsFor> | { readonly sources: "shared" },
  ): Promise<Sender> => {
    const sender = await createSender({ store: postgresStore(place), ...options });
    onTestFinished(() => sender.close({ deadline: 2_000 }));
    return sender;
  };
  const one = await open(settingsFor(1));
  const other = await open({ sources: "shared" });
  const followedAfterMs: number[] = [];
  let arrived = 0;
  for (let turn = 0; turn < times; turn += 1) {
    const { url } = tallies[turn % 2 === 0 ? 0 : 1];
    const changedAt = performance.now();
    const change = one.update(settingsFor(turn)).then(happened);
    const follows = (): boolean => JSON.stringify(other.settings).includes(url);
    await until("the other process follows", follows);
    followedAfterMs.push(Math.round(performance.now() - changedAt));
    await change;
    await other.track({ userId: "u1", event: "Bought", messageId: `t${turn}` });
    await until("it arrived", () => tallies.some(({ arrivals }) => arrivals.has(`t${turn}`)));
    if (tallies[turn % 2 === 0 ? 0 : 1].arrivals.has(`t${turn}`)) arrived += 1;
  }
  printMore(`settings were followed after at most ${Math.max(...followedAfterMs)} ms`);
  return { followedAfterMs, arrived };
}
