import { postgresStore } from "@countersign/postgres";
import { systemClock } from "@countersign/protocol";
import type { DeliveryStore } from "@countersign/sender/store";
import { virtualClock } from "@countersign/sender/testing";
import pg from "pg";
import { afterAll, describe, expect, it, onTestFinished } from "vitest";
import { acceptanceOf, quietContext } from "../../sender/test/support/acceptances.ts";
import { ask, newSchema, NO_POSTGRES, startPostgres } from "./support/start-postgres.ts";

const server = await startPostgres();
const url = server?.url ?? "postgres://127.0.0.1";

describe.skipIf(server === undefined)(
  `repetitions that are asked for at once (${server === undefined ? NO_POSTGRES : "PostgreSQL"})`,
  () => {
    afterAll(() => server?.stop());

    it("of a call are recognised for the time that was asked for, by whichever process, after old keys were removed", async () => {
      const schema = newSchema();
      const [day, start] = [86_400_000, Date.parse("2026-03-01T12:00:00Z")];
      const accept = async (at: number, ...keys: readonly string[]): Promise<DeliveryStore> => {
        const store = postgresStore({ url, schema });
        await store.open(quietContext(virtualClock(new Date(at))));
        const deliveries = keys.map((key) => ({
          id: `${key} ${at}`,
          destination: "shop/crm",
          acceptedAt: at,
          key,
        }));
        await store.accept({ ...acceptanceOf(deliveries), uniqueForMs: 7 * day });
        return store;
      };
      await (await accept(start, "of the first day")).close();
      await (await accept(start + 5 * day, "of the sixth day")).close();

      const store = postgresStore({ url, schema });
      await store.open(quietContext(virtualClock(new Date(start + 8 * day))));
      await expect.poll(() => ask(url, `SELECT key FROM ${schema}.seen`)).toHaveLength(1);
      await store.close();
      await (await accept(start + 8 * day, "of the sixth day", "of the first day")).close();
      const ids = await ask<{ id: string }>(url, `SELECT id FROM ${schema}.delivery ORDER BY id`);
      expect(ids.map(({ id }) => id)).toEqual([
        `of the first day ${start}`,
        `of the first day ${start + 8 * day}`,
        `of the sixth day ${start + 5 * day}`,
      ]);
    });

    it("are each stored once and counted, of the right original; one that cannot be stored fails alone", async () => {
      const clock = virtualClock("2026-03-01T12:00:00Z");
      const now = clock.now();
      const store = postgresStore({ url, schema: newSchema() });
      await store.open(quietContext(clock));
      onTestFinished(() => store.close());
      const destinations = ["shop/crm", "shop/mail", "app/crm"] as const;
      const originals = Array.from({ length: 600 }, (_, n) => ({
        id: `d${n}`,
        destination: destinations[n % 3] ?? "shop/crm",
        acceptedAt: now,
      }));
      await store.accept(acceptanceOf(originals));
      const asked = originals.map(({ id, destination }) =>
        store.repeat(id, { id: `again-${id}`, acceptedAt: now + 1 }, destination.split("/")[0]),
      );
      const unknown = store.repeat("unknown", { id: "again-unknown", acceptedAt: now + 1 }, "shop");
      // Half a millisecond is no time that the database takes.
      const wrong = store.repeat("d0", { id: "again-wrong", acceptedAt: now + 0.5 }, "shop");
      await expect(wrong).rejects.toMatchObject({ code: "ERR_STORE_FAILED" });
      expect(await unknown).toBe(false);
      expect(new Set(await Promise.all(asked))).toEqual(new Set([true]));
      expect(await store.count({})).toBe(1_200);
      for (const { id, destination } of [originals[0], originals[301], originals[599]].flatMap(
        (one) => one ?? [],
      ))
        expect(await store.find(`again-${id}`)).toMatchObject({ destination, event: id, resendOf: id });
      const counts = await store.counts();
      for (const destination of destinations) expect(counts.get(destination)?.pending).toBe(400);
    });

    it("get no id that a delivery of another source has: a list would show one of both, and nobody could name the other", async () => {
      const store = postgresStore({ url, schema: newSchema() });
      await store.open(quietContext(virtualClock("2026-03-01T12:00:00Z")));
      onTestFinished(() => store.close());
      const acceptedAt = Date.parse("2026-03-01T12:00:00Z");
      for (const destination of ["shop/crm", "app/crm"])
        await store.accept(acceptanceOf([{ id: `of ${destination}`, destination, acceptedAt }]));
      const asked = [
        ["of shop/crm", "chosen"],
        ["of app/crm", "chosen"],
        ["of app/crm", "of shop/crm"],
      ] as const;
      const answers = await Promise.allSettled(
        asked.map(([id, chosen]) => store.repeat(id, { id: chosen, acceptedAt }, id.slice(3, -4))),
      );
      expect(answers).toMatchObject([
        { value: true },
        { reason: { message: 'A delivery with the id "chosen" is stored already.' } },
        { reason: { message: 'A delivery with the id "of shop/crm" is stored already.' } },
      ]);
      const listed = await store.list({});
      expect(listed.map(({ source, id }) => `${source}: ${id}`).toSorted()).toEqual([
        "app: of app/crm",
        "shop: chosen",
        "shop: of shop/crm",
      ]);
    });

    it("that get one id in two sources at the same instant are both listed, counted and found, since no lock is held over sources", async () => {
      const schema = newSchema();
      const acceptedAt = Date.now();
      const stores = await Promise.all(
        ["shop", "app"].map(async () => {
          const store = postgresStore({ url, schema });
          await store.open(quietContext(systemClock()));
          onTestFinished(() => store.close());
          return store;
        }),
      );
      const [one, other] = stores as [DeliveryStore, DeliveryStore];
      for (const source of ["shop", "app"])
        await one.accept(acceptanceOf([{ id: `of ${source}`, destination: `${source}/crm`, acceptedAt }]));

      // Both look whether the id is free, and then wait for this transaction, which takes it and gives it back.
      const taker = new pg.Client({ connectionString: url });
      await taker.connect();
      await taker.query("BEGIN");
      await taker.query(
        `INSERT INTO ${schema}.message SELECT source, 'chosen', day, '' FROM ${schema}.message`,
      );
      const asked = Promise.all([
        one.repeat("of shop", { id: "chosen", acceptedAt }),
        other.repeat("of app", { id: "chosen", acceptedAt }),
      ]);
      const waiting = `SELECT FROM pg_stat_activity WHERE wait_event_type = 'Lock' AND query LIKE '%"${schema}"%'`;
      await expect.poll(() => ask(url, waiting), { timeout: 5_000 }).toHaveLength(2);
      await taker.query("ROLLBACK");
      await taker.end();
      expect(await asked).toEqual([true, true]);

      const twins = [
        { source: "app", id: "chosen", resendOf: "of app" },
        { source: "shop", id: "chosen", resendOf: "of shop" },
      ];
      const listed = (await one.list({})).filter(({ id }) => id === "chosen");
      expect(listed.toSorted((a, b) => (a.source < b.source ? -1 : 1))).toMatchObject(twins);
      expect(await one.list({ q: "chosen" })).toHaveLength(2);
      expect(await one.count({ q: "chosen" })).toBe(2);
      for (const twin of twins) expect(await one.find("chosen", twin.source)).toMatchObject(twin);
      expect(await one.find("chosen")).toMatchObject({ source: "app" });
      expect(await one.repeat("chosen", { id: "again", acceptedAt }, "shop")).toBe(true);
      expect(await one.find("again")).toMatchObject({ source: "shop", event: "of shop" });
    });
  },
);
