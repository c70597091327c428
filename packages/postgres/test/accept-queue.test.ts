import type { Acceptance } from "@countersign/sender/store";
import { expect, it, onTestFinished, vi } from "vitest";
import { NoAnswerError } from "../src/database/postgres-error.ts";
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

it("while the database hangs, calls do not wait for one group after another", async () => {
  vi.useFakeTimers({ toFake: ["performance", "setTimeout", "clearTimeout", "setImmediate"] });
  onTestFinished(() => void vi.useRealTimers());
  let commands = 0;
  const query = (): Promise<never> => {
    commands += 1;
    return new Promise((_resolve, reject) => {
      setTimeout(() => reject(new NoAnswerError("no answer within 5 s")), 5_000);
    });
  };
  const queue = new AcceptQueue({
    names: namesOf("test"),
    connections: { query },
    partitions: { has: () => true, isMissing: () => false },
    membership: () => ({ mayClaim: false, id: "w", epoch: 1 }),
    claims: { next: () => 1, signal: new AbortController().signal },
    dispatcher: { lane: () => undefined },
  } as unknown as AcceptQueueOptions);
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
