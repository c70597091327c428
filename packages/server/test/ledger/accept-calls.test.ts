import { CallError, createSender, type JudgedCall, type Sender, StoreError } from "@countersign/sender";
import { describe, expect, it } from "vitest";
import { StoreFullError, type Acceptance } from "../../src/ingest/ingest.ts";
import { createAcceptCalls } from "../../src/ledger/accept-calls.ts";
import { closing } from "../../../../tests/support/resources.ts";

const CALL: JudgedCall = {
  type: "track",
  event: "Ordered",
  userId: "u",
  messageId: "a",
  key: "a",
  timestamp: "2026-01-01T00:00:00.000Z",
};

type Accept = Sender["accept"];

type Arrived = JudgedCall & { readonly formerKey?: string };

interface Setup {
  readonly accept: (source: string, calls: readonly Arrived[]) => Promise<Acceptance>;
  readonly sender: Sender;
  /** Sizes of the lists that the sender was given. */
  readonly sizes: number[];
}

/** `before` may reject instead of the sender; `seen` is what an earlier version accepted. */
async function start(
  before: (calls: Parameters<Accept>[0]) => void = () => {},
  seen: readonly string[] = [],
): Promise<Setup> {
  const sender = closing(
    await createSender({
      deliver: false,
      sources: ["shop", "blog"].map((name) => ({
        name,
        destinations: [{ endpoints: [{ url: "http://127.0.0.1:9/" }] }],
      })),
    }),
  );
  const sizes: number[] = [];
  const watched = {
    accept: async (...[calls, options]: Parameters<Accept>) => {
      sizes.push(calls.length);
      before(calls);
      return sender.accept(calls, options);
    },
  };
  const ledger = { hasSeen: ({ key }: { key: string }) => seen.includes(key) };
  const accept = createAcceptCalls(watched, ledger, () => 0);
  return {
    accept: (source, calls) =>
      accept(
        source,
        calls.map(({ formerKey, ...call }) => ({ call, formerKey })),
      ),
    sender,
    sizes,
  };
}

/** Throws this the first time. */
function once(error: Error, times = 1): () => void {
  let left = times;
  return () => {
    left -= 1;
    if (left >= 0) throw error;
  };
}

describe("createAcceptCalls", () => {
  it("stores a call once, however many requests bring it at once, and counts each of the others", async () => {
    const { accept, sender } = await start();
    const all = await Promise.all([accept("shop", [CALL]), accept("shop", [CALL, CALL])]);
    expect(all.map(({ accepted }) => accepted).toSorted()).toEqual([0, 1]);
    expect(all.reduce((count, { duplicates }) => count + duplicates, 0)).toBe(2);
    expect(await accept("blog", [CALL])).toEqual({ accepted: 1, duplicates: 0, refused: [] });
    expect(await sender.count({})).toBe(2);
  });

  it("rejects when a call could not be stored, and stores it when it comes again", async () => {
    const { accept, sender } = await start(once(new Error("disk full")));
    await expect(accept("shop", [CALL])).rejects.toThrow("disk full");
    expect(await accept("shop", [CALL])).toEqual({ accepted: 1, duplicates: 0, refused: [] });
    expect(await sender.count({})).toBe(1);
  });

  it("stores the parts of a batch before the one that fails, and repeats none of them", async () => {
    let parts = 0;
    const { accept, sender } = await start(() => {
      parts += 1;
      if (parts === 2) throw new Error("disk full");
    });
    const calls = Array.from({ length: 150 }, (_, index) => ({ ...CALL, key: `m${index}` }));
    await expect(accept("shop", calls)).rejects.toThrow("disk full");
    expect(await sender.count({})).toBe(100);
    expect(await accept("shop", calls)).toEqual({ accepted: 50, duplicates: 100, refused: [] });
  });

  it("says that the store is full, so that the client is told when to come again", async () => {
    const { accept } = await start(once(new StoreError("ERR_STORE_FULL", "No room.")));
    await expect(accept("shop", [CALL])).rejects.toThrow(StoreFullError);
  });

  it("tells what the sender finds wrong with a call, and does not ask the client to come again", async () => {
    const { accept } = await start(once(new CallError("ERR_FIELD_INVALID", "userId is odd.")));
    const { accepted, refused } = await accept("shop", [CALL]);
    expect(accepted).toBe(0);
    expect(refused).toMatchObject([
      { reason: "refused_by_sender", detail: "userId is odd.", messageId: "a" },
    ]);
  });

  it("takes calls without an identity as often as they come", async () => {
    const { accept, sender } = await start();
    const { key: _, messageId: __, ...anonymous } = CALL;
    expect(await accept("shop", [anonymous, anonymous])).toEqual({ accepted: 2, duplicates: 0, refused: [] });
    expect(await sender.count({})).toBe(2);
  });

  it("stores a batch of 2,500 calls in parts, so that none of them holds the event loop for long", async () => {
    const { accept, sizes } = await start();
    const calls = Array.from({ length: 2_500 }, (_, index) => ({ ...CALL, key: `m${index}` }));
    expect(await accept("shop", calls)).toEqual({ accepted: 2_500, duplicates: 0, refused: [] });
    expect(sizes).toEqual(Array.from({ length: 25 }, () => 100));
  });

  it("stores the others of a batch when the sender finds fault with one of its calls", async () => {
    const { accept } = await start((part) => {
      if (part.some(({ event }) => event === "odd"))
        throw new CallError("ERR_FIELD_INVALID", "event is odd.");
    });
    const calls = ["a", "odd", "b"].map((event) => ({ ...CALL, event, key: event }));
    const { accepted, refused } = await accept("shop", calls);
    expect([accepted, refused.map(({ detail }) => detail)]).toEqual([2, ["event is odd."]]);
    expect(await accept("shop", calls)).toMatchObject({ accepted: 0, duplicates: 2 });
  });

  it("takes what an earlier version accepted for a repeat, and stores it not again", async () => {
    const { accept, sender } = await start(undefined, ["old"]);
    const calls = [
      { ...CALL, formerKey: "old" },
      { ...CALL, key: "b", formerKey: "new" },
    ];
    expect(await accept("shop", calls)).toEqual({ accepted: 1, duplicates: 1, refused: [] });
    expect(await sender.count({})).toBe(1);
  });
});
