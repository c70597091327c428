import { CallError, type Sender } from "@countersign/sender";
import { describe, expect, it, vi, type Mock } from "vitest";
import type { IngestedCall } from "../../src/ingest/normalize-call.ts";
import { createAcceptCalls, type AcceptCalls } from "../../src/ledger/accept-calls.ts";
import { Ledger } from "../../src/ledger/ledger.ts";
import { closing } from "../support/resources.ts";

const CALL: IngestedCall = {
  type: "track",
  event: "Ordered",
  userId: "u",
  messageId: "a",
  dedupeKey: "a",
  timestamp: "2026-01-01T00:00:00.000Z",
};

type Store = (...args: unknown[]) => Promise<void>;

function start(): {
  readonly accept: AcceptCalls;
  readonly ledger: Ledger;
  readonly store: Mock<Store>;
} {
  const ledger = closing(new Ledger(":memory:"));
  const store = vi.fn<Store>(async () => {});
  const accept = createAcceptCalls({ accept: store } as unknown as Sender, ledger, () => 0);
  return { accept, ledger, store };
}

describe("createAcceptCalls", () => {
  it("lets no request answer for a call that another one fails to store", async () => {
    const { accept, store } = start();
    store.mockRejectedValueOnce(new Error("disk full"));
    const both = await Promise.allSettled([accept("shop", [CALL]), accept("shop", [CALL, CALL])]);
    expect(both.map(({ status }) => status)).toEqual(["rejected", "rejected"]);
    expect(store).toHaveBeenCalledTimes(1);
    expect(await accept("shop", [CALL])).toEqual({ accepted: 1, duplicates: 0, refused: [] });
    expect(await accept("shop", [CALL])).toEqual({ accepted: 0, duplicates: 1, refused: [] });
    expect(store).toHaveBeenCalledTimes(2);
  });

  it("resolves only after the sender has stored the call and the ledger has remembered it", async () => {
    const { accept, ledger, store } = start();
    const steps: string[] = [];
    store.mockImplementation(async () => {
      steps.push("stored");
    });
    const remember = ledger.remember.bind(ledger);
    vi.spyOn(ledger, "remember").mockImplementation(async (...args) => {
      await remember(...args);
      steps.push("remembered");
    });
    await accept("shop", [CALL]);
    expect(steps).toEqual(["stored", "remembered"]);
  });

  it("does not remember calls that could not be stored, and remembers the parts of the batch before them", async () => {
    const { accept, ledger, store } = start();
    store.mockResolvedValueOnce().mockRejectedValueOnce(new Error("disk full"));
    const calls = Array.from({ length: 150 }, (_, index) => ({ ...CALL, dedupeKey: `m${index}` }));
    await expect(accept("shop", calls)).rejects.toThrow("disk full");
    const seen = calls.filter(({ dedupeKey: key }) => ledger.hasSeen({ source: "shop", key }, 1));
    expect(seen).toEqual(calls.slice(0, 100));
    expect(await accept("shop", calls)).toEqual({ accepted: 50, duplicates: 100, refused: [] });
  });

  it("rejects when the ledger cannot remember: better twice than never", async () => {
    const { accept, ledger, store } = start();
    vi.spyOn(ledger, "remember").mockRejectedValueOnce(new Error("disk full"));
    await expect(accept("shop", [CALL])).rejects.toThrow("disk full");
    await accept("shop", [CALL]);
    expect(store).toHaveBeenCalledTimes(2);
  });

  it("tells what the sender finds wrong with a call, and does not ask the client to come again", async () => {
    const { accept, store } = start();
    store.mockRejectedValueOnce(new CallError("ERR_FIELD_INVALID", "userId is odd."));
    const { accepted, refused } = await accept("shop", [CALL]);
    expect(accepted).toBe(0);
    expect(refused).toMatchObject([
      { reason: "refused_by_sender", detail: "userId is odd.", messageId: "a" },
    ]);
  });

  it("takes calls without an identity as often as they come", async () => {
    const { accept, store } = start();
    const { dedupeKey: _, messageId: __, ...anonymous } = CALL;
    expect(await accept("shop", [anonymous, anonymous])).toEqual({ accepted: 2, duplicates: 0, refused: [] });
    const stored = { type: "track", event: "Ordered", userId: "u", timestamp: CALL.timestamp };
    expect(store.mock.calls).toEqual([[[stored, stored], { source: "shop" }]]);
  });

  it("stores a batch of 2,500 calls in parts, so that none of them holds the event loop for long", async () => {
    const { accept, store } = start();
    const calls = Array.from({ length: 2_500 }, (_, index) => ({ ...CALL, dedupeKey: `m${index}` }));
    expect(await accept("shop", calls)).toEqual({ accepted: 2_500, duplicates: 0, refused: [] });
    const sizes = store.mock.calls.map(([part]) => (part as unknown[]).length);
    expect(sizes).toEqual(Array.from({ length: 25 }, () => 100));
  });

  it("stores the others of a batch when the sender finds fault with one of its calls", async () => {
    const { accept, store } = start();
    store.mockImplementation(async (part) => {
      if ((part as IngestedCall[]).some(({ event }) => event === "odd"))
        throw new CallError("ERR_FIELD_INVALID", "event is odd.");
    });
    const calls = ["a", "odd", "b"].map((event) => ({ ...CALL, event, dedupeKey: event }));
    const { accepted, refused } = await accept("shop", calls);
    expect([accepted, refused.map(({ detail }) => detail)]).toEqual([2, ["event is odd."]]);
    expect(await accept("shop", calls)).toMatchObject({ accepted: 0, duplicates: 2 });
  });

  it("leaves no pending work that others would wait for when the ledger fails", async () => {
    const { accept, ledger } = start();
    const other = { ...CALL, messageId: "b", dedupeKey: "b" };
    vi.spyOn(ledger, "hasSeen")
      .mockReturnValueOnce(false)
      .mockImplementationOnce(() => {
        throw new Error("disk failed");
      });
    await expect(accept("shop", [CALL, other])).rejects.toThrow("disk failed");
    expect(await accept("shop", [CALL, other])).toMatchObject({ accepted: 2, duplicates: 0 });
  });
});
