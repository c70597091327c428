import pg from "pg";
import { afterAll, expect, it, onTestFinished } from "vitest";
import { Connections } from "../src/database/connections.ts";
import { keptStatement } from "../src/database/kept-statement.ts";
import { NO_POSTGRES, startPostgres } from "./support/start-postgres.ts";

const server = await startPostgres({ fsync: "off" });

afterAll(() => server?.stop());

it.skipIf(server === undefined)(
  `commands that are under way when the server has forgotten what it had prepared are all sent again, not the first alone (${server === undefined ? NO_POSTGRES : "PostgreSQL"})`,
  async () => {
    const pool = new pg.Pool({ connectionString: server?.url, max: 2 });
    onTestFinished(() => pool.end());
    const connections = new Connections({ pool });
    const statement = keptStatement("slow", "SELECT 1 AS one, pg_sleep(0.05)::text");
    const both = (): Promise<unknown> =>
      Promise.all([connections.query("work", statement), connections.query("work", statement)]);
    await both();
    // As a pooler does that gives each transaction another connection of the server.
    const clients = await Promise.all([pool.connect(), pool.connect()]);
    await Promise.all(clients.map((client) => client.query("DEALLOCATE ALL")));
    for (const client of clients) client.release();
    expect(await both()).toMatchObject([[{ one: 1 }], [{ one: 1 }]]);
  },
);
