import { postgresStore } from "@countersign/postgres";
import { systemClock } from "@countersign/protocol";
import { afterAll, describe, expect, it, onTestFinished, vi } from "vitest";
import { acceptanceOf, quietContext } from "../../sender/test/support/acceptances.ts";
import { delivering } from "./support/delivering.ts";
import { startProxy } from "./support/proxy.ts";
import { ask, newSchema, NO_POSTGRES, startPostgres } from "./support/start-postgres.ts";
import { until } from "./support/until.ts";

const server = await startPostgres({ fsync: "off" });
const url = server?.url ?? "postgres://127.0.0.1";

describe.skipIf(server === undefined)(
  `a worker whose heartbeat breaks off (${server === undefined ? NO_POSTGRES : "PostgreSQL"})`,
  () => {
    afterAll(() => server?.stop());

    /** A store behind a proxy that delivers, and what it has delivered. */
    async function openStore() {
      const proxy = await startProxy(Number(new URL(url).port));
      const schema = newSchema();
      const store = postgresStore({ url: proxy.url(url), schema });
      await store.open(quietContext(systemClock()));
      onTestFinished(() => store.close());
      const { handler, ended } = delivering();
      store.consume("shop/main", 10, handler);
      const accept = (id: string) =>
        store.accept(acceptanceOf([{ id, destination: "shop/main", acceptedAt: Date.now() }]));
      await accept("first");
      await until("it delivers", () => ended.has("first"));
      return { store, proxy, schema, accept, ended };
    }

    it("asks again what is due, with the next heartbeat: else it would be asked much later", async () => {
      const { proxy } = await openStore();
      const cut = proxy.cutBeforeAnswer(["SELECT w.destination, d.due_at"], 2);
      // It asks, since it is time, and time stands still then.
      vi.spyOn(performance, "now").mockReturnValue(performance.now() + 60_000);
      onTestFinished(() => void vi.restoreAllMocks());
      await until("it has asked again", () => cut() > 1);
      expect(cut()).toBe(2);
    });

    it("tells the others again that it delivers, if they have not heard it: they may have taken its part", async () => {
      const { proxy, schema, accept, ended } = await openStore();
      const joined = async (): Promise<number> =>
        (await ask<{ joined: number }>(url, `SELECT joined::int FROM ${schema}.worker`))[0]?.joined ?? 0;
      const before = await joined();
      const cut = proxy.cutBeforeCommand(["SET delivers = true, joined"], 1);
      // It has not heard from the database for long.
      const now = performance.now.bind(performance);
      vi.spyOn(performance, "now").mockImplementation(() => now() + 60_000);
      onTestFinished(() => void vi.restoreAllMocks());
      await until("it has told so", async () => (await joined()) > before);
      expect(cut()).toBe(1);
      await accept("second");
      await until("it delivers again", () => ended.has("second"));
    });

    it("looks for claims that nobody has, although the answer was lost about a worker that it has removed", async () => {
      const { store, proxy, schema } = await openStore();
      const swept = async (): Promise<boolean> =>
        (await ask(url, `SELECT value FROM ${schema}.meta WHERE key = 'swept'`)).length > 0;
      await until("the next sweep is a minute away", swept);
      await store.accept(acceptanceOf([{ id: "orphan", destination: "shop/other", acceptedAt: Date.now() }]));
      // A claim of the worker was under way while it was removed.
      await ask(url, `UPDATE ${schema}.delivery SET worker = 'gone', claim = 1 WHERE id = 'orphan'`);
      const cut = proxy.cutBeforeAnswer(["folded_counts"], 1);
      await ask(
        url,
        `INSERT INTO ${schema}.worker VALUES ('dead', 1, now() - interval '1 h', now() - interval '1 h', true, false, 1, 1)`,
      );
      const isFree = async (): Promise<boolean> =>
        (await ask(url, `SELECT id FROM ${schema}.delivery WHERE worker IS NULL`)).length > 0;
      await until("it is free", isFree);
      expect(cut()).toBe(1);
    });
  },
);
