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
    const waiting = async (what: string): Promise<boolean> => {
      const asked = `SELECT FROM pg_stat_activity WHERE wait_event_type = 'Lock' AND query LIKE '${what} %${table}%'`;
      return (await ask(url, asked)).length === 1;
    };
    const other = await connectTo(url);
    onTestFinished(() => other.end());
    const pool = new pg.Pool({ connectionString: url });
    onTestFinished(() => pool.end());
    const connections = new Connections({ pool });

    // The server does not end what the other does.
    await other.query(`SET deadlock_timeout = '1h'; BEGIN; UPDATE ${table} SET n = n + 1 WHERE id = 2`);
    const text = `WITH one AS (UPDATE ${table} SET n = n + 1 WHERE id = 1 RETURNING n)
      UPDATE ${table} SET n = n + 1 WHERE id = 2 AND EXISTS (SELECT FROM one) RETURNING n`;
    const answer = connections.query("work", { text });
    await until("it has changed the first row, and waits for the second", () => waiting("WITH"));
    await other.query(`UPDATE ${table} SET n = n + 1 WHERE id = 1`);
    await other.query("COMMIT");
    expect(await answer).toEqual([{ n: 2 }]);
    expect(await ask(url, `SELECT n FROM ${table}`)).toEqual([{ n: 2 }, { n: 2 }]);
  },
);
