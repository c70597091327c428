import { afterAll, describe, expect, it, onTestFinished, vi } from "vitest";
import { acceptanceOf } from "../../sender/test/support/acceptances.ts";
import { namesOf } from "../dist/schema/names.js";
import { releaseOrphansSql, removeSql } from "../dist/workers/worker-statements.js";
import { delivering } from "./support/delivering.ts";
import { openBehindProxy } from "./support/open-behind-proxy.ts";
import { ask, connectTo, NO_POSTGRES, startPostgres } from "./support/start-postgres.ts";
import { until } from "./support/until.ts";

const server = await startPostgres();
const url = server?.url ?? "postgres://127.0.0.1";

/**
 * Whoever has been silent for longer than a second claims nothing with what is stored. However long other work of the machine holds the
 * process up, that is a tenth of one here.
 */
function keepTimeSteady(): void {
  const real = performance.now.bind(performance);
  let last = real();
  let told = last;
  vi.spyOn(performance, "now").mockImplementation(() => {
    const now = real();
    told += Math.min(now - last, 100);
    last = now;
    return told;
  });
  onTestFinished(() => void vi.restoreAllMocks());
}

describe.skipIf(server === undefined)(
  `a worker that is taken over (${server === undefined ? NO_POSTGRES : "PostgreSQL"})`,
  () => {
    afterAll(() => server?.stop());

    /** A store behind a proxy that delivers to two sources at once, and what it has delivered. */
    async function openStore() {
      keepTimeSteady();
      const { store, schema, accept: acceptFor, ...rest } = await openBehindProxy(url);
      const { handler: delivers, ended } = delivering();
      const attempted: string[] = [];
      const handler: typeof delivers = {
        ...delivers,
        deliver(due, signal) {
          attempted.push(due.delivery.id);
          return delivers.deliver(due, signal);
        },
      };
      const accept = (id: string, source: string) => acceptFor(id, `${source}/crm`);
      for (const source of ["shop", "news"]) store.consume(`${source}/crm`, 10, handler);
      // Once a lane has claimed and found nothing more, what is stored is claimed as it is stored.
      for (const time of [1, 2, 3]) {
        for (const source of ["shop", "news"]) await accept(`${source}-${time}`, source);
        await until("both are delivered", () => ended.size === time * 2);
      }
      const workers = async (): Promise<readonly string[]> =>
        (await ask<{ id: string }>(url, `SELECT id FROM ${schema}.worker`)).map(({ id }) => id);
      return { ...rest, store, schema, accept, ended, attempted, workers };
    }

    it("is none whose answer was lost: it keeps what is under way in a lane that it no longer serves, so that nobody repeats it", async () => {
      const { store, proxy, schema, accept } = await openStore();
      let finish = (): void => {};
      const held = new Promise<void>((resolve) => (finish = resolve));
      let isUnderWay = false;
      const consumer = store.consume("shop/slow", 10, {
        async deliver() {
          isUnderWay = true;
          await held;
          return { state: "delivered", endedAt: Date.now(), attempts: [] };
        },
        settled: () => {},
        lost: () => {},
      });
      await store.accept(acceptanceOf([{ id: "slow", destination: "shop/slow", acceptedAt: Date.now() }]));
      await until("its attempt is under way", () => isUnderWay);
      const stopped = consumer.stop();
      proxy.cutBeforeAnswer(["lost-answer"], 1);
      await accept("lost-answer", "news").catch(() => {});
      await until("a new epoch has begun", async () => {
        const [row] = await ask<{ epoch: number }>(url, `SELECT epoch::int FROM ${schema}.worker`);
        return row?.epoch === 2;
      });
      const [row] = await ask<{ worker: string | null }>(
        url,
        `SELECT worker FROM ${schema}.delivery WHERE id = 'slow'`,
      );
      expect(row?.worker).not.toBeNull();
      finish();
      await stopped;
    });

    it("gives back what it claimed without knowing although its earlier attempt at that is still under way", async () => {
      const { store, proxy, schema, workers } = await openStore();
      const [before] = await workers();
      let finish = (): void => {};
      const held = new Promise<void>((resolve) => (finish = resolve));
      let attempts = 0;
      const ends: string[] = [];
      store.consume("shop/slow", 10, {
        async deliver() {
          attempts += 1;
          if (attempts === 1) await held;
          return { state: "delivered", endedAt: Date.now(), attempts: [] };
        },
        settled: () => void ends.push("settled"),
        lost: () => void ends.push("lost"),
      });
      await store.accept(acceptanceOf([{ id: "slow", destination: "shop/slow", acceptedAt: Date.now() }]));
      await until("its first attempt is under way", () => attempts === 1);
      // Another process takes its claims over, and the answer to its next claim is lost.
      const cut = proxy.cutBeforeAnswer(['"shop/slow"'], 1);
      const client = await connectTo(url);
      onTestFinished(() => client.end());
      await client.query(removeSql(namesOf(schema)), [before, null]);
      await until("the answer is lost", () => cut() === 1);
      await until("it is delivered by its new claim", () => ends.length === 1);
      finish();
      await until("the first attempt has ended", () => ends.length === 2);
      expect(ends).toEqual(["settled", "lost"]);
    });

    it("while it waits to begin a new epoch, delivers on as a new worker, in that one's first epoch", async () => {
      const { proxy, schema, accept, ended, attempted, workers } = await openStore();
      const [before] = await workers();
      // The answer to a command that claims is late, and that to another is lost: a new epoch is to begin after both.
      const late = proxy.holdAnswer(["late-answer"]);
      const lateCall = accept("late-answer", "news").catch((error: unknown) => error);
      await until("the answer to one is held", late.isHeld);
      const cut = proxy.cutBeforeAnswer(["lost-answer"], 1);
      const lostCall = await accept("lost-answer", "shop").catch((error: unknown) => error);
      expect(lostCall).toMatchObject({ code: "ERR_STORE_UNKNOWN" });
      expect(cut()).toBe(1);
      // Meanwhile another process takes its claims over.
      const client = await connectTo(url);
      onTestFinished(() => client.end());
      await client.query(removeSql(namesOf(schema)), [before, null]);
      // As a process does that takes over: a command may have been under way.
      await client.query(releaseOrphansSql(namesOf(schema)));
      await until("it has joined again", async () => {
        const [now] = await workers();
        return now !== undefined && now !== before;
      });
      late.release();
      await lateCall;
      await accept("after", "shop");
      const all = ["late-answer", "lost-answer", "after"];
      await until("all are delivered", () => all.every((id) => ended.has(id)));
      expect(await ask(url, `SELECT epoch::int FROM ${schema}.worker`)).toEqual([{ epoch: 1 }]);
      // Not by the claim that was lost before its answer came.
      expect(attempted.filter((id) => id === "late-answer")).toHaveLength(1);
    });

    it("is none that waits for an answer: it begins a new epoch after that, so that what was claimed is not repeated", async () => {
      const { proxy, schema, accept, ended, attempted } = await openStore();
      const seen = async (): Promise<{ epoch: number; beat: string } | undefined> =>
        (
          await ask<{ epoch: number; beat: string }>(
            url,
            `SELECT epoch::int, beat_at::text AS beat FROM ${schema}.worker`,
          )
        )[0];
      const late = proxy.holdAnswer(["late-answer"]);
      const lateCall = accept("late-answer", "news");
      await until("the answer to one is held", late.isHeld);
      proxy.cutBeforeAnswer(["lost-answer"], 1);
      await expect(accept("lost-answer", "shop")).rejects.toMatchObject({ code: "ERR_STORE_UNKNOWN" });
      // A new epoch would begin before the second of these: one such command follows the other.
      for (const beat of ["first", "second"]) {
        const before = (await seen())?.beat;
        await until(`the ${beat} beat`, async () => (await seen())?.beat !== before);
      }
      expect((await seen())?.epoch).toBe(1);
      late.release();
      await lateCall;
      await until("a new epoch has begun", async () => (await seen())?.epoch === 2);
      await until("both are delivered", () => ["late-answer", "lost-answer"].every((id) => ended.has(id)));
      expect(attempted.filter((id) => id.endsWith("-answer")).toSorted()).toEqual([
        "late-answer",
        "lost-answer",
      ]);
    });

    it("is none whose answer about a result was lost: the result is stored, and told as such", async () => {
      const { store, proxy } = await openStore();
      const ends: string[] = [];
      let cut = (): number => 0;
      store.consume("shop/slow", 10, {
        async deliver() {
          // The command with the result is the next one that names the delivery.
          cut = proxy.cutBeforeAnswer(["result-1"], 1);
          return { state: "delivered", endedAt: Date.now(), attempts: [] };
        },
        settled: () => void ends.push("settled"),
        lost: () => void ends.push("lost"),
      });
      const result = { id: "result-1", destination: "shop/slow", acceptedAt: Date.now() };
      await store.accept(acceptanceOf([result]));
      await until("it has ended", () => ends.length > 0);
      expect(cut()).toBe(1);
      expect(ends).toEqual(["settled"]);
    });
  },
);
