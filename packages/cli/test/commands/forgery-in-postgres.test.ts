import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { postgresStore } from "@countersign/postgres";
import { createServer, type CountersignServer } from "@countersign/server";
import { afterAll, describe, expect, it, onTestFinished } from "vitest";
import { newSchema, NO_POSTGRES, startPostgres } from "../../../postgres/test/support/start-postgres.ts";
import { startTally } from "../../../postgres/test/support/tally.ts";

const postgres = await startPostgres();
afterAll(() => postgres?.stop());

describe.skipIf(postgres === undefined)(`deliveries in PostgreSQL${postgres ? "" : NO_POSTGRES}`, () => {
  it("a receiver that accepts a forgery is told, after a restart too where the server has a data directory", async () => {
    // It accepts everything.
    const { url: to } = await startTally();
    const data = mkdtempSync(join(tmpdir(), "countersign-"));
    onTestFinished(() => rmSync(data, { recursive: true, force: true }));
    const schema = newSchema();
    const start = async (): Promise<CountersignServer> => {
      const store = postgresStore({ url: postgres?.url ?? "", schema });
      const server = await createServer({ store, to, secret: "dev", port: 0, data });
      onTestFinished(() => server.close({ deadlineMs: 2_000 }));
      return server;
    };
    const told = async (server: CountersignServer) =>
      ((await server.control("GET", "/stats")).body as { forgeries: unknown }).forgeries;

    const first = await start();
    await first.control("POST", "/faults", { fault: "bad_signature" });
    const { deliveries } = await first.sender.track({ userId: "u1", event: "Forged" });
    await first.sender.idle();
    const expected = [{ destination: "default/webhooks", url: to, delivery: deliveries[0] }];
    expect(await told(first)).toMatchObject(expected);
    await first.close();
    expect(await told(await start())).toMatchObject(expected);
  });
});
