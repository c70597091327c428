import {
  createReceiver,
  memoryDedupe,
  type Claim,
  type DedupeStore,
  type MemoryDedupeOptions,
  type Received,
} from "@countersign/core";
import { sharedDedupe, type SharedDedupeSteps } from "@countersign/core/shared-dedupe";
import fc from "fast-check";
import { describe, expect, it, onTestFinished, vi } from "vitest";
import { openClaim } from "../src/dedupe/open-claims.ts";
import { testDedupeStore } from "./support/dedupe-contract.ts";
import { SECRET, webhookRequest } from "./support/requests.ts";

const HOUR = 3_600_000;

/** A store and the hands of its clock. */
function storeAt(options: MemoryDedupeOptions = {}): { store: DedupeStore; advance: (ms: number) => void } {
  let time = 1_000_000;
  const store = memoryDedupe({ ...options, now: () => time });
  return { store, advance: (ms) => void (time += ms) };
}

testDedupeStore("memoryDedupe", () => {
  const { store, advance } = storeAt();
  return { store, passLease: () => advance(60_000), passTtl: () => advance(5 * HOUR) };
});

describe("sharedDedupe", () => {
  it("releases a claim that failed, since it may have been taken: a repeat would wait until the lease is over", async () => {
    const holders = new Map<string, string>();
    const store = sharedDedupe(
      {
        async claim(key, token) {
          holders.set(key, token);
          throw new Error("no answer");
        },
        commit: async () => {},
        async release(key, token) {
          if (holders.get(key) === token) holders.delete(key);
          throw new Error("no answer to this, either");
        },
      },
      60_000,
    );
    await expect(store.claim("a")).rejects.toThrow("no answer");
    expect(holders.size).toBe(0);
  });

  it("forgets the claims of handlers that never answer once they have run out, and keeps the others", async () => {
    vi.useFakeTimers({ toFake: ["performance"] });
    onTestFinished(() => void vi.useRealTimers());
    const release = vi.fn<(key: string, token: string) => Promise<void>>(async () => {});
    const store = sharedDedupe({ claim: async () => "new", commit: async () => {}, release }, 60_000);
    await store.claim("never answered");
    vi.advanceTimersByTime(59_000);
    await store.claim("answers late");
    vi.advanceTimersByTime(1_000);
    await store.claim("next");
    await store.release("never answered");
    expect(release).not.toHaveBeenCalled();
    await store.release("answers late");
    expect(release).toHaveBeenCalledExactlyOnceWith("answers late", expect.any(String));
  });
});

/** The steps of a database that keeps a claim until its lease ends. */
function stepsAt(now: () => number, lease: number): SharedDedupeSteps {
  const held = new Map<string, { token: string; until: number }>();
  return {
    async claim(key, token) {
      const holder = held.get(key);
      if (holder?.token === "done") return "done";
      if (holder !== undefined && holder.until > now()) return "in-flight";
      held.set(key, { token, until: now() + lease });
      return "new";
    },
    commit: async (key) => void held.set(key, { token: "done", until: Number.POSITIVE_INFINITY }),
    async release(key, token) {
      if (held.get(key)?.token === token) held.delete(key);
    },
  };
}

describe.each<[string, (now: () => number) => DedupeStore]>([
  ["memoryDedupe", (now) => memoryDedupe({ now })],
  ["sharedDedupe", (now) => sharedDedupe(stepsAt(now, 60_000), 60_000)],
])("a receiver with %s whose handler takes longer than the lease", (_name, open) => {
  /** What becomes of the delivery when it arrives again. */
  function deliveries(): { arrive: () => Promise<Received>; passLease: () => void } {
    let time = 1_000_000;
    const receiver = createReceiver({ secret: SECRET, dedupe: open(() => time) });
    return { arrive: () => receiver.receive(webhookRequest()), passLease: () => void (time += 60_000) };
  }

  async function verified(received: Promise<Received>): Promise<Extract<Received, { verdict: "verified" }>> {
    const verdict = await received;
    if (verdict.verdict !== "verified") throw new Error(verdict.verdict);
    return verdict;
  }

  it("does not free the claim of the repeat that runs beside it, and so run a third", async () => {
    const { arrive, passLease } = deliveries();
    const first = await verified(arrive());
    passLease();
    const second = await verified(arrive());
    await first.settle(500);
    expect(await arrive()).toMatchObject({ error: { code: "ERR_DUPLICATE_IN_FLIGHT" } });
    await second.settle(500);
    await verified(arrive());
  });

  it("frees nothing when it settles twice", async () => {
    const { arrive } = deliveries();
    const first = await verified(arrive());
    await first.settle(500);
    await verified(arrive());
    await first.settle(500);
    expect(await arrive()).toMatchObject({ error: { code: "ERR_DUPLICATE_IN_FLIGHT" } });
  });

  it("has handled the delivery all the same if it succeeds", async () => {
    const { arrive, passLease } = deliveries();
    const first = await verified(arrive());
    passLease();
    const second = await verified(arrive());
    await first.settle(204);
    await second.settle(500);
    expect((await arrive()).verdict).toBe("duplicate");
  });
});

describe("the claims that a receiver has open", () => {
  it("do not grow without end where handlers never answer: the oldest are forgotten", () => {
    const store = memoryDedupe();
    const ends = Array.from({ length: 100_001 }, (_, index) => openClaim(store, `key ${index}`));
    expect([ends[0]?.(), ends[1]?.(), ends.at(-1)?.()]).toEqual([false, true, true]);
  });
});

describe("memoryDedupe", () => {
  it("gives a key once, until it is released", () => {
    const { store } = storeAt();
    expect(store.claim("a")).toBe("new");
    expect(store.claim("a")).toBe("in-flight");
    expect(store.claim("b")).toBe("new");
    void store.release("a");
    expect(store.claim("a")).toBe("new");
    void store.commit("a");
    expect(store.claim("a")).toBe("done");
    expect(store.claim("b")).toBe("in-flight");
  });

  it("remembers what was handled for five hours, longer than any delivery is repeated", () => {
    const { store, advance } = storeAt();
    void store.claim("a");
    void store.commit("a");
    advance(5 * HOUR - 1);
    expect(store.claim("a")).toBe("done");
    advance(1);
    expect(store.claim("a")).toBe("new");
  });

  it("lets a claim run out after a minute, as one of a handler that never answered", () => {
    const { store, advance } = storeAt();
    void store.claim("a");
    advance(59_999);
    expect(store.claim("a")).toBe("in-flight");
    advance(1);
    expect(store.claim("a")).toBe("new");
    // The new claim has a minute of its own.
    advance(59_999);
    expect(store.claim("a")).toBe("in-flight");
  });

  it("forgets the oldest handled beyond its bound, and never one in flight", () => {
    const { store } = storeAt({ max: 2 });
    void store.claim("in flight");
    for (const key of ["a", "b", "c"]) {
      void store.claim(key);
      void store.commit(key);
    }
    expect(["b", "c", "in flight"].map((key) => store.claim(key))).toEqual(["done", "done", "in-flight"]);
    expect(store.claim("a")).toBe("new");
  });

  it("takes no entry for alive that ran out behind one that has not, where the clock was set back", () => {
    const { store, advance } = storeAt({ ttl: 100 });
    void store.commit("first");
    advance(-50);
    void store.commit("second");
    advance(120);
    expect(store.claim("first")).toBe("done");
    expect(store.claim("second")).toBe("new");
  });

  it("keeps no claim that ran out, so handlers that never answer do not fill the memory", () => {
    const { store, advance } = storeAt();
    void store.claim("never answered");
    advance(60_000);
    void store.claim("next");
    // A clock that was set back shows what is still there: the first has been forgotten, the second has not.
    advance(-30_000);
    expect([store.claim("never answered"), store.claim("next")]).toEqual(["new", "in-flight"]);
  });

  it.each([
    ["max", { max: 0 }],
    ["ttl", { ttl: -1 }],
    ["lease", { lease: Number.NaN }],
    ["max", { max: "many" as unknown as number }],
    ["ttl", { ttl: "3600000" as unknown as number }],
    ["lease", { lease: "60000" as unknown as number }],
  ])("throws a TypeError for a %s that is not a positive number", (name, options) => {
    expect(() => memoryDedupe(options)).toThrow(TypeError);
    expect(() => memoryDedupe(options)).toThrow(`memoryDedupe: ${name} must be a positive number`);
  });

  it("throws a TypeError for an option that does not exist", () => {
    const misspelt: object = { tl: 1 };
    expect(() => memoryDedupe(misspelt)).toThrow(TypeError);
    expect(() => memoryDedupe(misspelt)).toThrow('memoryDedupe(): unknown option "tl"; did you mean "ttl"?');
  });

  it("does what a list of everything that happened would say", () => {
    const [max, ttl, lease] = [3, 100, 10];
    const key = fc.constantFrom("a", "b", "c", "d", "e");
    const wait = fc.record({ do: fc.constant("wait"), ms: fc.constantFrom(1, 2, 9, 10, 90, 100) });
    const step = fc.oneof(
      { weight: 3, arbitrary: fc.record({ do: fc.constant("claim"), key }) },
      { weight: 2, arbitrary: fc.record({ do: fc.constantFrom("commit", "release"), key }) },
      { weight: 1, arbitrary: wait },
    );
    const seen: Record<Claim, number> = { new: 0, "in-flight": 0, done: 0 };
    fc.assert(
      fc.property(fc.array(step, { minLength: 10, maxLength: 60, size: "max" }), (steps) => {
        const { store, advance } = storeAt({ max, ttl, lease });
        let time = 0;
        let claims: { key: string; at: number }[] = [];
        let handled: { key: string; at: number }[] = [];
        for (const step of steps) {
          if ("ms" in step) {
            advance(step.ms);
            time += step.ms;
            continue;
          }
          const { key } = step;
          claims = claims.filter(({ at }) => at + lease > time);
          if (step.do === "claim") {
            handled = handled.filter(({ at }) => at + ttl > time);
            const isDone = handled.some((entry) => entry.key === key);
            const isClaimed = claims.some((entry) => entry.key === key);
            const expected = isDone ? "done" : isClaimed ? "in-flight" : "new";
            if (expected === "new") claims.push({ key, at: time });
            expect(store.claim(key)).toBe(expected);
            seen[expected]++;
            continue;
          }
          claims = claims.filter((entry) => entry.key !== key);
          if (step.do === "commit") {
            handled = [...handled.filter((entry) => entry.key !== key), { key, at: time }].slice(-max);
            void store.commit(key);
          } else {
            void store.release(key);
          }
        }
      }),
      { numRuns: 1_000 },
    );
    for (const count of Object.values(seen)) expect(count).toBeGreaterThan(500);
  });
});
