import type { DedupeStore } from "@countersign/core";
import { afterEach, beforeEach, describe, expect, it } from "vitest";

/** A store under test. */
export interface OpenStore {
  readonly store: DedupeStore;
  /** The same data as another process sees it; absent for a store that belongs to one process. */
  readonly elsewhere?: DedupeStore;
  /** Lets a claim's lease pass, and less than the time for which a handled delivery is remembered. */
  readonly passLease: () => void | Promise<void>;
  /** Lets the time pass for which a handled delivery is remembered. */
  readonly passTtl: () => void | Promise<void>;
  readonly close?: () => void | Promise<void>;
}

const KEY = "a".repeat(64);
const OTHER = "b".repeat(64);

/**
 * What every {@link DedupeStore} promises, as tests: call it at the top of a test file.
 *
 * @param name - The store, for the tests' titles.
 * @param open - Opens an empty store for each test.
 */
export function testDedupeStore(name: string, open: () => OpenStore | Promise<OpenStore>): void {
  describe(`${name} keeps the contract of a DedupeStore`, () => {
    let opened: OpenStore;
    let store: DedupeStore;
    beforeEach(async () => {
      opened = await open();
      ({ store } = opened);
    });
    afterEach(() => opened.close?.());

    it("claims a key once, until it is released or committed", async () => {
      expect(await store.claim(KEY)).toBe("new");
      expect(await store.claim(KEY)).toBe("in-flight");
      await store.release(KEY);
      expect(await store.claim(KEY)).toBe("new");
      await store.commit(KEY);
      expect(await store.claim(KEY)).toBe("done");
      expect(await store.claim(KEY)).toBe("done");
    });

    it("gives the key to one of many simultaneous claims", async () => {
      const stores = [store, opened.elsewhere ?? store];
      const claims = await Promise.all(
        Array.from({ length: 20 }, async (_, index) => stores[index % 2]?.claim(KEY)),
      );
      expect(claims.toSorted()).toEqual([...Array<string>(19).fill("in-flight"), "new"]);
    });

    it("keeps keys apart", async () => {
      await store.claim(KEY);
      await store.commit(KEY);
      expect(await store.claim(OTHER)).toBe("new");
      await store.release(OTHER);
      expect(await store.claim(KEY)).toBe("done");
    });

    it("gives a claim back that was neither committed nor released, once its lease has passed", async () => {
      await store.claim(KEY);
      await opened.passLease();
      expect(await store.claim(KEY)).toBe("new");
    });

    it("remembers what was handled beyond the lease, and forgets it after its time", async () => {
      await store.claim(KEY);
      await store.commit(KEY);
      await opened.passLease();
      expect(await store.claim(KEY)).toBe("done");
      await opened.passTtl();
      expect(await store.claim(KEY)).toBe("new");
    });

    it("remembers a commit that comes after its lease has passed: the delivery was handled", async () => {
      await store.claim(KEY);
      await opened.passLease();
      await store.commit(KEY);
      expect(await store.claim(KEY)).toBe("done");
    });

    it("does not forget what was handled for a release, as of a repeat that failed", async () => {
      await store.claim(KEY);
      await store.commit(KEY);
      await store.release(KEY);
      expect(await store.claim(KEY)).toBe("done");
    });

    it("takes a commit and a release of keys that were never claimed", async () => {
      await store.release(KEY);
      expect(await store.claim(KEY)).toBe("new");
      await store.commit(OTHER);
      expect(await store.claim(OTHER)).toBe("done");
    });

    it("shares claims and what was handled with other processes, where it can", async () => {
      const { elsewhere } = opened;
      if (elsewhere === undefined) return;
      expect(await store.claim(KEY)).toBe("new");
      expect(await elsewhere.claim(KEY)).toBe("in-flight");
      await store.commit(KEY);
      expect(await elsewhere.claim(KEY)).toBe("done");
      await elsewhere.claim(OTHER);
      await elsewhere.release(OTHER);
      expect(await store.claim(OTHER)).toBe("new");
    });
  });
}
