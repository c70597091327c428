import type { Acceptance } from "@countersign/sender/store";
import { expect, it, onTestFinished, vi } from "vitest";
import { NoAnswerError, NotInTimeError } from "../src/database/postgres-error.ts";
import { AcceptQueue, type AcceptQueueOptions } from "../src/delivery/accept-queue.ts";
import { namesOf } from "../src/schema/names.ts";

/** So large that each is stored with a command of its own. */
function large(): Acceptance {
  const body = Buffer.alloc(3_000_000);
  const about = { messageId: "m", type: "track", source: "a", identity: "u", event: "e", acceptedAt: 0 };
  return {
    calls: [{ ...about, counted: true }],
    messages: [{ ...about, body, call: 0 }],
    deliveries: [],
  } as unknown as Acceptance;
}

/** A queue whose commands go to this. */
function queueOf(query: (since: number) => Promise<never>): AcceptQueue {
  const connections = {
    query: (_purpose: string, _statement: object, _values: unknown[], since: number) => query(since),
  };
  return new AcceptQueue({
    names: namesOf("test"),
    connections,
    partitions: { has: () => true, isMissing: () => false },
    membership: () => ({ mayClaim: false, id: "w", epoch: 1 }),
    claims: { next: () => 1, signal: new AbortController().signal },
    dispatcher: { lane: () => undefined },
  } as unknown as AcceptQueueOptions);
}

function fakeTime(): void {
  vi.useFakeTimers({ toFake: ["performance", "setTimeout", "clearTimeout", "setImmediate"] });
  onTestFinished(() => void vi.useRealTimers());
}

it("while no connection can be had, each call is refused after 5 s of its own, and not with those before it", async () => {
  fakeTime();
  const start = performance.now();
  // As a gate and a pool that hang.
  const queue = queueOf(
    (since) =>
      new Promise((_resolve, reject) => {
        setTimeout(() => reject(new NotInTimeError("None.")), since + 5_000 - performance.now());
      }),
  );
  const waited: number[] = [];
  for (let count = 0; count < 20; count += 1) {
    const since = performance.now() - start;
    const ended = (): void => void waited.push(performance.now() - start - since);
    queue.add("a", large()).then(ended, ended);
    await vi.advanceTimersByTimeAsync(400);
  }
  await vi.advanceTimersByTimeAsync(10_000);
  expect(waited).toEqual(Array(20).fill(5_000));
});

it("while the database hangs, calls do not wait for one group after another", async () => {
  fakeTime();
  let commands = 0;
  const query = (): Promise<never> => {
    commands += 1;
    return new Promise((_resolve, reject) => {
      setTimeout(() => reject(new NoAnswerError("no answer within 5 s")), 5_000);
    });
  };
  const queue = queueOf(query);
  const ended: string[] = [];
  const add = (): void => {
    queue.add("a", large()).catch(({ code }: { code: string }) => void ended.push(code));
  };
  for (let count = 0; count < 20; count += 1) add();
  await vi.advanceTimersByTimeAsync(1_000);
  add();
  await vi.advanceTimersByTimeAsync(4_500);
  // Whether the first was stored is not known, and of the others that they were not. The late one is tried.
  expect(ended).toEqual(["ERR_STORE_UNKNOWN", ...Array<string>(19).fill("ERR_STORE_FAILED")]);
  await vi.advanceTimersByTimeAsync(5_000);
  expect(ended.slice(20)).toEqual(["ERR_STORE_UNKNOWN"]);
  expect(commands).toBe(2);
});
