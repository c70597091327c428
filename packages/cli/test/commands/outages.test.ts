import { postgresStore } from "@countersign/postgres";
import { createServer } from "@countersign/server";
import { afterAll, describe, expect, it, onTestFinished } from "vitest";
import { lacks } from "../../../postgres/test/support/postgres-programs.ts";
import { startProxy } from "../../../postgres/test/support/proxy.ts";
import { NO_PGBOUNCER, startPgbouncer } from "../../../postgres/test/support/start-pgbouncer.ts";
import {
  ask,
  connectTo,
  newSchema,
  NO_POSTGRES,
  startPostgres,
  type TestPostgres,
} from "../../../postgres/test/support/start-postgres.ts";
import { startTally, type Tally } from "../../../postgres/test/support/tally.ts";
import { until } from "../../../postgres/test/support/until.ts";
import { send } from "../../../server/test/support/http.ts";

const primary = await startPostgres({ fsync: "off", synchronous_standby_names: "" });
const pooler = primary === undefined ? undefined : await startPgbouncer(primary.url);

/** A server on a store, and what it has answered. */
interface Running {
  readonly url: string;
  /** Ids of the messages that were answered 200. */
  readonly accepted: Set<string>;
  /** Sends one message; resolves to the status and the text of the answer. */
  track(size?: number): Promise<{ readonly status: number; readonly text: string }>;
  readyz(): Promise<{ readonly status: number; readonly text: string }>;
}

let messages = 0;

async function startServer(url: string, tally: Tally, schema = newSchema()): Promise<Running> {
  const store = postgresStore({ url, schema, lease: "2s" });
  const server = await createServer({ store, to: tally.url, secret: "dev", port: 0 });
  onTestFinished(() => server.close({ deadlineMs: 2_000 }));
  const accepted = new Set<string>();
  return {
    url: server.url,
    accepted,
    async track(size = 10) {
      messages += 1;
      const messageId = `message-${messages}`;
      const properties = { filler: "x".repeat(size) };
      const body = { writeKey: "any", userId: "u1", event: "Bought", messageId, properties };
      const answer = await send(`${server.url}/v1/track`, { method: "POST", body });
      if (answer.status === 200) accepted.add(messageId);
      return answer;
    },
    readyz: () => send(`${server.url}/readyz`),
  };
}

/** Sends messages until one is answered as it should; resolves to that answer. Every other status is a failure. */
async function trackUntil(running: Running, status: 200 | 503, size?: number): Promise<string> {
  let text = "";
  await until(`a call is answered ${status}`, async () => {
    const answer = await running.track(size);
    expect([200, 503]).toContain(answer.status);
    text = answer.text;
    return answer.status === status;
  });
  return text;
}

/** What was answered 200 is delivered, and only that is promised. */
async function expectDelivered({ accepted }: Running, { arrivals }: Tally): Promise<void> {
  await until("what was answered 200 is delivered", () => [...accepted].every((id) => arrivals.has(id)));
  expect(accepted.size).toBeGreaterThan(1);
}

/** Reads the events of a server, from the first, until one matches. */
async function untilTold({ url }: Running, pattern: RegExp): Promise<void> {
  const stop = new AbortController();
  const { body } = await fetch(`${url}/api/events?after=start`, { signal: stop.signal });
  let text = "";
  for await (const part of (body ?? new ReadableStream()).pipeThrough(new TextDecoderStream())) {
    text += part;
    if (pattern.test(text)) break;
  }
  stop.abort();
}

/** From here on, what the server commits waits for these standbys: a standby has it, too. */
async function waitFor({ url }: TestPostgres, standbys: "*" | ""): Promise<void> {
  await ask(url, `ALTER SYSTEM SET synchronous_standby_names = '${standbys}'`);
  await ask(url, "SELECT pg_reload_conf()");
  const state = standbys === "" ? "async" : "sync";
  await until(`the standby is ${state}`, async () => {
    const rows = await ask<{ sync_state: string }>(url, "SELECT sync_state FROM pg_stat_replication");
    return rows.some((row) => row.sync_state === state);
  });
}

describe.skipIf(primary === undefined)(
  `a server whose database is in trouble (${primary === undefined ? NO_POSTGRES : "PostgreSQL"})`,
  { timeout: 120_000 },
  () => {
    const server = primary as TestPostgres;
    afterAll(async () => {
      await pooler?.stop();
      await primary?.stop();
    });

    it("answers 503 while the disk is full, and delivers what it had accepted before", async () => {
      const own = (await startPostgres({ fsync: "off" }, { smallDisk: 40 })) as TestPostgres;
      onTestFinished(() => own.stop());
      await ask(own.url, "ALTER DATABASE postgres SET default_tablespace = small");
      const tally = await startTally();
      const running = await startServer(own.url, tally);
      expect((await running.track()).status).toBe(200);
      const fill = "INSERT INTO ballast SELECT repeat('x', 7000) FROM generate_series(1, 1000)";
      await ask(
        own.url,
        "CREATE TABLE ballast (filler text); ALTER TABLE ballast ALTER filler SET STORAGE PLAIN",
      );
      await until("the disk is full", () =>
        ask(own.url, fill).then(
          () => false,
          (error: unknown) => (error as { readonly code?: string }).code === "53100",
        ),
      );
      // What tables have in reserve is used up, too.
      const refused = await trackUntil(running, 503, 20_000);
      expect(JSON.parse(refused)).toMatchObject({ success: false, code: "store_full" });
      const ready = await running.readyz();
      expect(ready.status).toBe(503);
      expect(ready.text).toContain("The disk of the database is full. Make room");
      await ask(own.url, "DROP TABLE ballast");
      await trackUntil(running, 200);
      await expectDelivered(running, tally);
      await until("it is ready", async () => (await running.readyz()).status === 200);
    });

    it("answers 503 while the database has no connection left, and says how many it needs", async () => {
      const own = (await startPostgres({ fsync: "off", max_connections: "20" })) as TestPostgres;
      onTestFinished(() => own.stop());
      const tally = await startTally();
      const running = await startServer(own.url, tally);
      expect((await running.track()).status).toBe(200);
      const clients: Awaited<ReturnType<typeof connectTo>>[] = [];
      const connect = async (): Promise<boolean> => {
        try {
          clients.push(await connectTo(own.url));
          return true;
        } catch (error) {
          expect(error).toMatchObject({ code: "53300" });
          return false;
        }
      };
      /** Those of the store break, and others take what is free, until the store has got none of them again. */
      const takeAll = (): Promise<void> =>
        until("others have every connection", async () => {
          while (await connect());
          const broken = await clients[0]?.query(
            "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = 'countersign'",
          );
          return broken?.rows.length === 0;
        });
      let refused = "";
      await until("a call is answered 503", async () => {
        // One that the store was just making is no backend yet that could be ended.
        await takeAll();
        const { status, text } = await running.track();
        refused = text;
        return status === 503;
      });
      expect(JSON.parse(refused)).toMatchObject({ success: false });
      await until("it says why", async () => {
        await takeAll();
        const { status, text } = await running.readyz();
        return status === 503 && text.includes("Each process needs seven");
      });
      for (const one of clients) await one.end();
      await trackUntil(running, 200);
      await expectDelivered(running, tally);
    });

    const failover = "answers 503 while it reaches a standby, and goes on when that is the primary";
    const copier = "pg_basebackup";
    it.skipIf(lacks(copier) !== undefined)(`${failover} (${lacks(copier) ?? copier})`, async () => {
      const own = (await startPostgres({ fsync: "off" })) as TestPostgres;
      const standby = (await startPostgres({ fsync: "off" }, { standbyOf: own })) as TestPostgres;
      onTestFinished(async () => {
        await standby.stop();
        await own.stop();
      });
      const proxy = await startProxy(own.port);
      const tally = await startTally();
      const running = await startServer(proxy.url(own.url), tally);
      // What is answered from here on is on both disks.
      await waitFor(own, "*");
      for (let count = 0; count < 20; count += 1) expect((await running.track()).status).toBe(200);
      own.signal("SIGKILL");
      proxy.lead(standby.port);
      await trackUntil(running, 503);
      await until("it says why", async () => (await running.readyz()).text.includes("read-only"));
      expect((await running.readyz()).status).toBe(503);
      await standby.promote();
      await trackUntil(running, 200);
      await until("it is ready", async () => (await running.readyz()).status === 200);
      await expectDelivered(running, tally);
    });

    const waits =
      "answers 503 while the standby that the database waits for is away, and goes on when it waits no longer";
    it.skipIf(lacks(copier) !== undefined)(`${waits} (${lacks(copier) ?? copier})`, async () => {
      const own = (await startPostgres({ fsync: "off" })) as TestPostgres;
      onTestFinished(() => own.stop());
      const standby = (await startPostgres({ fsync: "off" }, { standbyOf: own })) as TestPostgres;
      onTestFinished(() => standby.stop());
      const tally = await startTally();
      const running = await startServer(own.url, tally);
      expect((await running.track()).status).toBe(200);
      await waitFor(own, "*");
      expect((await running.track()).status).toBe(200);
      standby.signal("SIGSTOP");
      await trackUntil(running, 503);
      await until("it is not ready", async () => (await running.readyz()).status === 503);
      await waitFor(own, "");
      await trackUntil(running, 200);
      await until("it is ready", async () => (await running.readyz()).status === 200);
      await expectDelivered(running, tally);
    });

    it("answers 503 while its password is wrong, and never says the password", async () => {
      const own = (await startPostgres({ fsync: "off" })) as TestPostgres;
      onTestFinished(() => own.stop());
      const tally = await startTally();
      const running = await startServer(own.url, tally);
      expect((await running.track()).status).toBe(200);
      const admin = await connectTo(own.url);
      await admin.query("ALTER ROLE countersign PASSWORD 'another'");
      await admin.query(
        "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = 'countersign'",
      );
      const refused = await trackUntil(running, 503);
      await until("it says why", async () =>
        (await running.readyz()).text.includes("refused the user or the password"),
      );
      expect(refused + (await running.readyz()).text).not.toContain(new URL(own.url).password);
      await admin.query(`ALTER ROLE countersign PASSWORD '${new URL(own.url).password}'`);
      await admin.end();
      await trackUntil(running, 200);
      await expectDelivered(running, tally);
    });

    it("is not ready while the database answers everything but calls, and is with the first call that is stored", async () => {
      const tally = await startTally();
      const schema = newSchema();
      const running = await startServer(server.url, tally, schema);
      expect((await running.track()).status).toBe(200);
      // As by a privilege that is lost: the heartbeats of the process do not touch this table.
      await ask(server.url, `ALTER TABLE ${schema}.message RENAME TO elsewhere`);
      const told = untilTold(
        running,
        /"event":"store","state":"down","reason":"A table of the store is missing/,
      );
      // Not with the first: others could be stored a moment ago.
      await until("it is not ready", async () => {
        await trackUntil(running, 503);
        return (await running.readyz()).status === 503;
      });
      const ready = await running.readyz();
      expect([ready.status, JSON.parse(ready.text)]).toMatchObject([
        503,
        { status: "down", problems: [expect.stringContaining("A table of the store is missing")] },
      ]);
      await told;
      await ask(server.url, `ALTER TABLE ${schema}.elsewhere RENAME TO message`);
      await trackUntil(running, 200);
      expect((await running.readyz()).status).toBe(200);
      await expectDelivered(running, tally);
    });

    it.skipIf(pooler === undefined)(
      `delivers through a pooler in transaction mode, and says that it polls (${pooler === undefined ? NO_PGBOUNCER : "PgBouncer"})`,
      async () => {
        const tally = await startTally();
        const schema = newSchema();
        const running = await startServer(pooler?.url ?? "", tally, schema);
        const other = await startServer(pooler?.url ?? "", tally, schema);
        for (let count = 0; count < 20; count += 1) {
          for (const one of [running, other]) expect((await one.track()).status).toBe(200);
        }
        for (const one of [running, other]) await expectDelivered(one, tally);
        await until("it says so", async () =>
          (await send(`${running.url}/api/status`)).text.includes("Notifications do not arrive"),
        );
        expect((await running.readyz()).status).toBe(200);
      },
    );

    it("answers 503 to a change of the settings while the database is away, and says so", async () => {
      const own = (await startPostgres({ fsync: "off" })) as TestPostgres;
      onTestFinished(() => own.stop());
      const { url } = await startServer(own.url, await startTally());
      const put = () => send(`${url}/api/sources/shop`, { method: "PUT", body: {} });
      own.signal("SIGKILL");
      await until("nothing answers", () =>
        connectTo(own.url).then(
          () => false,
          () => true,
        ),
      );
      // A connection that the server had may break while it is asked: whether the change is stored is not known then.
      await until("it says so", async () => {
        const refused = await put();
        expect(refused.status).toBe(503);
        return refused.text.includes("The database cannot be reached");
      });
      await own.start();
      await until("it is changed", async () => (await put()).status < 300);
    });

    it("tells settings that another process changed, and refuses a change of older ones with 412", async () => {
      const tally = await startTally();
      const schema = newSchema();
      const [one, other] = [
        await startServer(server.url, tally, schema),
        await startServer(server.url, tally, schema),
      ];
      const etagOf = async ({ url }: Running): Promise<string> =>
        String((await send(`${url}/api/sources`)).headers.etag);
      const put = (url: string, name: string, headers: Record<string, string>) => {
        return send(`${url}/api/sources/${name}`, { method: "PUT", headers, body: {} });
      };
      const old = await etagOf(other);
      expect((await put(one.url, "app", { "if-match": await etagOf(one) })).status).toBeLessThan(300);
      await until("the other process has it", async () =>
        (await send(`${other.url}/api/sources`)).text.includes('"app"'),
      );
      await untilTold(other, /"event":"settings"[^}]*"source":"app"/u);
      expect((await put(other.url, "blog", { "if-match": old })).status).toBe(412);
      expect((await put(other.url, "blog", { "if-match": await etagOf(other) })).status).toBeLessThan(300);
    });
  },
);
