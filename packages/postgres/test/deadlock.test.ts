import pg from "pg";
import { afterAll, expect, it, onTestFinished } from "vitest";
import { Connections } from "../src/database/connections.ts";
import { ask, connectTo, newSchema, NO_POSTGRES, startPostgres } from "./support/start-postgres.ts";
import { until } from "./support/until.ts";

const server = await startPostgres({ fsync: "off" });
const url = server?.url ?? "postgres://127.0.0.1";

afterAll(() => server?.stop());

it.skipIf(server === undefined)(
  `a command that the server ends since it and another wait for each other is sent again: of two processes that cleared at once, one failed (${server === undefined ? NO_POSTGRES : "PostgreSQL"})`,
  async () => {
    const table = newSchema();
    await ask(url, `CREATE TABLE ${table} AS SELECT id, 0 AS n FROM generate_series(1, 2) AS id`);
    const waiting = async (what: string, event: string): Promise<boolean> => {
      const asked = `SELECT FROM pg_stat_activity WHERE wait_event_type = 'Lock' AND wait_event = '${event}' AND query LIKE '${what}%${table}%'`;
      return (await ask(url, asked)).length === 1;
    };
    const [gate, other] = [await connectTo(url), await connectTo(url)];
    for (const client of [gate, other]) onTestFinished(() => client.end());
    const pool = new pg.Pool({ connectionString: url });
    onTestFinished(() => pool.end());
    const connections = new Connections({ pool });

    // The server does not end what the other does.
    await other.query(`SET deadlock_timeout = '1h'; BEGIN; UPDATE ${table} SET n = n + 1 WHERE id = 2`);
    // It looks for a deadlock once for each wait: the other waits already when this one begins to wait for it.
    await gate.query("SELECT pg_advisory_lock(1)");
    const text = `WITH one AS (UPDATE ${table} SET n = n + 1 WHERE id = 1 RETURNING n)
      UPDATE ${table} SET n = n + 1 WHERE id = 2 AND EXISTS (SELECT FROM one WHERE pg_advisory_xact_lock(1)::text = '') RETURNING n`;
    const answer = connections.query("work", { text });
    await until("it has changed the first row, and waits at the gate", () => waiting("WITH", "advisory"));
    const changed = other.query(`UPDATE ${table} SET n = n + 1 WHERE id = 1`);
    await until("the other waits for the first row", () => waiting("UPDATE", "transactionid"));
    await gate.query("SELECT pg_advisory_unlock(1)");
    await changed;
    await other.query("COMMIT");
    expect(await answer).toEqual([{ n: 2 }]);
    expect(await ask(url, `SELECT n FROM ${table}`)).toEqual([{ n: 2 }, { n: 2 }]);
  },
);
