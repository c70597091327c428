import { postgresStore } from "@countersign/postgres";
import { systemClock } from "@countersign/protocol";
import { virtualClock } from "@countersign/sender/testing";
import type { Settlement } from "@countersign/sender/store";
import { afterAll, describe, expect, it, onTestFinished } from "vitest";
import { acceptanceOf, quietContext } from "../../sender/test/support/acceptances.ts";
import { passTime } from "../../../tests/support/pass-time.ts";
import { startProxy } from "./support/proxy.ts";
import { ask, newSchema, NO_POSTGRES, startPostgres } from "./support/start-postgres.ts";
import { happened, until } from "./support/until.ts";
import { WorkerWatch } from "./support/watch-workers.ts";

const SHOP = "shop/crm";
const SILENT_MS = 1_500;
const server = await startPostgres();
const url = server?.url ?? "postgres://127.0.0.1";

describe.skipIf(server === undefined)(
  `consumers that stop (${server === undefined ? NO_POSTGRES : "PostgreSQL"})`,
  () => {
    afterAll(() => server?.stop());

    async function openStore(where: string) {
      const clock = virtualClock("2026-03-01T12:00:00Z");
      const store = postgresStore({ url: where, schema: newSchema() });
      const handedOver: string[] = [];
      await store.open(quietContext(clock));
      onTestFinished(() => store.close());
      const serve = (destination: string) =>
        store.consume(destination, 10, {
          deliver: async ({ delivery }): Promise<Settlement> => {
            handedOver.push(delivery.id);
            return { state: "delivered", endedAt: clock.now(), attempts: [] };
          },
          settled: () => {},
          lost: () => {},
        });
      const accept = (id: string) =>
        store.accept(acceptanceOf([{ id, destination: SHOP, acceptedAt: clock.now() }]));
      // The store may claim from here on.
      serve("shop/mail");
      await clock.advance(0);
      return { clock, handedOver, serve, accept };
    }

    it("what is claimed while a consumer stops goes to the next one at once", async () => {
      const { clock, handedOver, serve, accept } = await openStore(url);
      await accept("d1");
      // Its claim is under way.
      await serve(SHOP).stop();
      serve(SHOP);
      await clock.advance(0);
      expect(handedOver).toEqual(["d1"]);
    });

    it("a virtual clock waits for what is due while nothing may be claimed, as after the process was blocked", async () => {
      const { clock, handedOver, serve, accept } = await openStore(url);
      serve(SHOP);
      await clock.advance(0);
      // The last heartbeat was long ago: another process may have taken over what this one had.
      passTime(2_000);
      await accept("d1");
      await clock.advance(0);
      expect(handedOver).toEqual(["d1"]);
    });

    it("a consumer that stops while nothing may be claimed holds no virtual clock", async () => {
      const { clock, serve, accept } = await openStore(url);
      const consumer = serve(SHOP);
      await clock.advance(0);
      passTime(2_000);
      await accept("d1");
      await consumer.stop();
      const before = clock.now();
      await clock.advance("1h");
      expect(clock.now() - before).toBe(3_600_000);
    });

    it("a consumer that stops leaves when a call that was to be handed to it is not stored", async () => {
      const { port } = new URL(url);
      const proxy = await startProxy(Number(port));
      const { clock, serve, accept } = await openStore(url.replace(`:${port}/`, `:${proxy.port}/`));
      const consumer = serve(SHOP);
      await clock.advance(0);
      const cut = proxy.cutBeforeAnswer(["missing", "accept_"], 1);
      const accepted = accept("d1").catch((error: unknown) => error);
      // The command is on its way.
      await new Promise((resolve) => setImmediate(() => setImmediate(resolve)));
      await consumer.stop();
      await accepted;
      expect(cut()).toBe(1);
      expect(await accepted).toMatchObject({ code: "ERR_STORE_UNKNOWN" });
    });

    it("a consumer that stops while it delivers keeps its part of the concurrency until its deliveries have ended", async () => {
      const schema = newSchema();
      let release = (): void => {};
      const released = new Promise<void>((resolve) => (release = resolve));
      const under = { way: 0, most: 0 };
      const settled = new Set<string>();
      const serve = async () => {
        const store = postgresStore({ url, schema });
        await store.open(quietContext(systemClock()));
        onTestFinished(() => store.close());
        onTestFinished(() => release());
        const consumer = store.consume(SHOP, 2, {
          deliver: async (): Promise<Settlement> => {
            under.way += 1;
            under.most = Math.max(under.most, under.way);
            happened();
            await released;
            under.way -= 1;
            return { state: "delivered", endedAt: Date.now(), attempts: [] };
          },
          settled: ({ delivery }, { state }) => {
            if (state !== "pending") settled.add(delivery.id);
            happened();
          },
          lost: () => {},
        });
        return { store, consumer };
      };
      const first = await serve();
      const acceptedAt = Date.now();
      const due = ["d1", "d2", "d3", "d4"].map((id) => ({ id, destination: SHOP, acceptedAt }));
      await first.store.accept(acceptanceOf(due));
      await until("two are under way", () => under.way === 2);
      const stopped = first.consumer.stop();
      const watch = new WorkerWatch({ url, schema });
      onTestFinished(() => watch.stop());
      await serve();

      const beats = async (): Promise<readonly string[]> => {
        const rows = await ask<{ beat: string }>(url, `SELECT beat_at::text AS beat FROM ${schema}.worker`);
        return rows.map(({ beat }) => beat);
      };
      for (let round = 0; round < 4; round += 1) {
        const before = new Set(await beats());
        await until("both have looked at the list again", async () =>
          (await beats()).every((beat) => !before.has(beat)),
        );
      }
      // Nobody waits for one that is silent, as where the machine stood still.
      expect(watch.longestSilenceMs < SILENT_MS ? under.most : 0).toBeLessThanOrEqual(2);
      release();
      await stopped;
      await until("the other one delivers the rest", () => settled.size === due.length);
    });
  },
);
