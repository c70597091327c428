import type { PostgresClient } from "@countersign/postgres";
import pg from "pg";
import { onTestFinished, afterAll, describe, expect, it } from "vitest";
import { Connections } from "../src/database/connections.ts";
import { namesOf } from "../src/schema/names.ts";
import { Bulletin, type BulletinListener } from "../src/workers/bulletin.ts";
import { GatheredNews, type News } from "../src/workers/gathered-news.ts";
import { startProxy } from "./support/proxy.ts";
import { ask, connectTo, newSchema, NO_POSTGRES, startPostgres } from "./support/start-postgres.ts";
import { happened, until } from "./support/until.ts";

const server = await startPostgres({ fsync: "off" });
const url = server?.url ?? "postgres://127.0.0.1";
/** Another process listens. */
const MEMBERSHIP = { id: "me", hasOthers: true };

describe("what is gathered for the next notices", () => {
  const delivery = {
    id: "d1",
    source: "shop",
    destination: "shop/crm",
    messageId: "m1",
    type: "track",
    identity: "u1",
    event: "Ordered",
    acceptedAt: 0,
  } as const;
  const idsOf = (count: number): readonly string[] =>
    Array.from({ length: count }, (_, index) => `d${index}`);

  it("has the ids of what has ended in several notices, or in none when there are too many", () => {
    const gathered = new GatheredNews();
    gathered.add({ ended: idsOf(2_400) });
    const told: string[] = [];
    while (!gathered.isEmpty) {
      const { ended = [], missed } = gathered.take(7_000);
      expect([ended.length, missed]).toEqual([120, undefined]);
      told.push(...ended);
    }
    expect(told).toEqual(idsOf(2_400));
    gathered.add({ ended: idsOf(2_401) });
    expect(gathered.take(7_000)).toEqual({ missed: true });
    expect(gathered.isEmpty).toBe(true);
  });

  it("has the last version of the settings, whatever else is told after it", () => {
    const gathered = new GatheredNews();
    gathered.add({ settings: 2 });
    gathered.add({ settings: 3 });
    gathered.add({ list: true });
    expect(gathered.take(7_000)).toEqual({ settings: 3, list: true });
    expect(gathered.isEmpty).toBe(true);
  });

  it("leaves out the events that do not fit beside the rest", () => {
    const gathered = new GatheredNews();
    const event = { kind: "accepted", delivery } as const;
    const bytes = Buffer.byteLength(JSON.stringify(event));
    gathered.add({ list: true, events: Array.from({ length: 10 }, () => event) });
    const news = gathered.take(5 * bytes);
    expect(news.list).toBe(true);
    expect(news.events?.length).toBeGreaterThan(2);
    expect(Buffer.byteLength(JSON.stringify(news))).toBeLessThanOrEqual(5 * bytes);
    expect(gathered.isEmpty).toBe(true);
  });
});

describe.skipIf(server === undefined)(
  `notices of other processes (${server === undefined ? NO_POSTGRES : "PostgreSQL"})`,
  () => {
    afterAll(() => server?.stop());

    /** One that can listen, and what it is told. */
    function bulletinOn(connections: Connections) {
      const names = namesOf(newSchema());
      const heard: News[] = [];
      const counts = { missed: 0 };
      const bulletin = new Bulletin(connections, names, MEMBERSHIP);
      const listener: BulletinListener = {
        told(news) {
          heard.push(news);
          happened();
        },
        missed() {
          counts.missed += 1;
          happened();
        },
      };
      onTestFinished(() => {
        bulletin.close();
        return connections.close();
      });
      return { names, bulletin, listener, heard, counts };
    }

    /** One that listens by way of a proxy, and what it is told. */
    async function listening() {
      const proxy = await startProxy(Number(new URL(url).port));
      const made = bulletinOn(new Connections({ url: proxy.url(url) }));
      const { names, bulletin, listener } = made;
      await bulletin.listen(listener);
      await until("its own notice arrives", () => bulletin.hears);
      const notify = (payload: string): Promise<unknown> =>
        ask(url, `SELECT pg_notify('${names.channel}', '${payload}')`);
      return { proxy, notify, ...made };
    }

    it("end no process when anybody sends what is no notice", async () => {
      const { heard, notify } = await listening();
      for (const payload of ["null", "5", "[]", "{", "", '{"from":5}', '{"probe":"x"}'])
        await notify(payload);
      await notify('{"from":"other","ended":["d1"]}');
      await until("the next one is told", () => heard.length > 0);
      expect(heard).toEqual([{ from: "other", ended: ["d1"] }]);
    });

    it("of another schema in the same database are not heard", async () => {
      const { heard, notify } = await listening();
      const other = namesOf(newSchema());
      await ask(url, `SELECT pg_notify('${other.channel}', '{"from":"other","ended":["d1"]}')`);
      await notify('{"from":"other","ended":["d2"]}');
      await until("the next one is told", () => heard.length > 0);
      expect(heard).toEqual([{ from: "other", ended: ["d2"] }]);
    });

    it("of a process that closes while it connects keep no connection of its pool", async () => {
      const proxy = await startProxy(Number(new URL(url).port));
      const pool = new pg.Pool({ connectionString: proxy.url(url), max: 1 });
      const connections = new Connections({ pool });
      const names = namesOf(newSchema());
      const nothing = (): void => {};
      const bulletin = new Bulletin(connections, names, MEMBERSHIP);
      proxy.stall();
      const listening = bulletin.listen({ told: nothing, missed: nothing });
      bulletin.close();
      proxy.cutBeforeAnswer(["LISTEN"], 1);
      proxy.resume();
      await listening;
      expect(pool.totalCount).toBe(0);
      await pool.end();
    });

    it("reach the others although the connection had ended by which they were to be sent", async () => {
      const { proxy, names, bulletin } = await listening();
      const other = await connectTo(url);
      onTestFinished(() => other.end());
      const heard: string[] = [];
      other.on("notification", ({ payload = "" }) => {
        heard.push(payload);
        happened();
      });
      await other.query(`LISTEN ${names.channel}`);
      const cut = proxy.cutBeforeCommand(["once"], 1);
      bulletin.tell({ ended: ["once"] });
      await until("another process hears of it", () => heard.some((one) => one.includes("once")));
      expect(cut()).toBe(1);
    });

    it("stay heard when a command of an earlier connection fails late: it ends only its own", async () => {
      const pool = new pg.Pool({ connectionString: url });
      pool.on("error", () => {});
      let failFirst: ((error: Error) => void) | undefined;
      const connect = async (): Promise<PostgresClient> => {
        const client: PostgresClient = await pool.connect();
        const send = client.query.bind(client);
        const query: PostgresClient["query"] = (config) => {
          if (failFirst !== undefined || !config.text.includes("pg_notify")) return send(config);
          return new Promise((_, reject) => {
            failFirst = reject;
            happened();
          });
        };
        return Object.assign(client, { query });
      };
      onTestFinished(() => pool.end());
      const made = bulletinOn(new Connections({ pool: { connect } }));
      const { names, bulletin, listener, counts } = made;
      const first = bulletin.listen(listener);
      await until("its own notice is on its way", () => failFirst !== undefined);
      await ask(
        url,
        `SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE query LIKE 'LISTEN%${names.channel}%'`,
      );
      await until("another connection listens", () => counts.missed === 2);
      failFirst?.(Object.assign(new Error("out of memory"), { severity: "ERROR", code: "53200" }));
      await first;
      await until("its own notice arrives", () => bulletin.hears);
      expect(counts.missed).toBe(2);
    });

    it("are heard again when their connection is open and dead", async () => {
      const { proxy, bulletin, heard, counts, notify } = await listening();
      const { missed } = counts;
      proxy.stall();
      const checked = bulletin.check();
      await until("it has noticed", () => !bulletin.hears);
      await checked;
      proxy.resume();
      await until("it listens again", () => bulletin.hears);
      expect(counts.missed).toBeGreaterThan(missed);
      await notify('{"from":"other","ended":["d2"]}');
      await until("a notice is told", () => heard.length > 0);
    });
  },
);
