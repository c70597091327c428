import { setTimeout as wait } from "node:timers/promises";
import type { Sender, SenderEvents } from "@countersign/sender";
import type { BenchContext } from "../harness/bench.ts";
import { median, quantile } from "../harness/statistics.ts";
import { undisturbed } from "../harness/undisturbed.ts";
import { trackOrder } from "./calls.ts";

const PER_SECOND = 1_000;
const SECONDS = 8;
const ROUNDS = 3;

/**
 * The slowest 1 % of calls and of deliveries at 1,000 calls a second: in milliseconds, from the moment a call was due; the
 * middle of rounds that the host of the machine has not disturbed.
 *
 * @param what - What is being measured, to say so.
 * @param warmUpSeconds - How long a load runs before.
 */
export async function steadyP99(
  sender: Sender,
  what: string,
  warmUpSeconds: number,
  { rounds, progress }: BenchContext,
): Promise<{ readonly accepted: number; readonly delivered: number }> {
  const load = new SteadyLoad(sender, PER_SECOND);
  const round = async (seconds: number): Promise<Latencies> => {
    progress(`${what}, ${seconds} s at ${PER_SECOND} calls a second`);
    await load.run(seconds);
    await sender.idle();
    return load.take();
  };
  await round(warmUpSeconds);
  const measured = await undisturbed(rounds(ROUNDS), () => round(SECONDS));
  load.close();
  const p99 = (pick: (latencies: Latencies) => readonly number[]): number =>
    median(measured.map((latencies) => quantile(pick(latencies), 0.99)));
  return { accepted: p99(({ accepted }) => accepted), delivered: p99(({ delivered }) => delivered) };
}

/** Milliseconds from the moment a call was due. */
export interface Latencies {
  /** To the moment it was stored. */
  readonly accepted: readonly number[];
  /** To the moment its message was delivered. */
  readonly delivered: readonly number[];
}

/**
 * Makes calls at a steady rate, whatever becomes of them, and times each from the moment it was due: a sender that
 * stands still for a while is late for every call of that while, not for one.
 */
export class SteadyLoad {
  readonly #sender: Sender;
  readonly #perSecond: number;
  readonly #dueAt = new Map<string, number>();
  /** When deliveries ended whose call has not resolved yet. */
  readonly #early = new Map<string, number>();
  #accepted: number[] = [];
  #delivered: number[] = [];
  #made = 0;

  constructor(sender: Sender, perSecond: number) {
    this.#sender = sender;
    this.#perSecond = perSecond;
    sender.on("delivered", this.#onDelivered);
  }

  /** Makes calls for so many seconds; resolves when all of them are stored. */
  async run(seconds: number): Promise<void> {
    const count = Math.round(this.#perSecond * seconds);
    const start = performance.now();
    const calls: Promise<void>[] = [];
    while (calls.length < count) {
      const wanted = Math.min(Math.floor(((performance.now() - start) / 1_000) * this.#perSecond), count);
      while (calls.length < wanted) calls.push(this.#call(start + (calls.length / this.#perSecond) * 1_000));
      await wait(1);
    }
    await Promise.all(calls);
  }

  /** What was timed since the last time that this was asked. */
  take(): Latencies {
    const latencies = { accepted: this.#accepted, delivered: this.#delivered };
    [this.#accepted, this.#delivered] = [[], []];
    return latencies;
  }

  close(): void {
    this.#sender.off("delivered", this.#onDelivered);
  }

  async #call(due: number): Promise<void> {
    this.#made += 1;
    const { messageId } = await trackOrder(this.#sender, this.#made);
    this.#accepted.push(performance.now() - due);
    const ended = this.#early.get(messageId);
    if (ended === undefined) this.#dueAt.set(messageId, due);
    else this.#delivered.push(ended - due);
    this.#early.delete(messageId);
  }

  readonly #onDelivered = ({ delivery: { messageId } }: SenderEvents["delivered"]): void => {
    const due = this.#dueAt.get(messageId);
    if (due === undefined) this.#early.set(messageId, performance.now());
    else this.#delivered.push(performance.now() - due);
    this.#dueAt.delete(messageId);
  };
}
