import { randomBytes } from "node:crypto";
import { statfsSync, truncateSync, unlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { postgresStore } from "@countersign/postgres";
import { createSender } from "@countersign/sender";
import { expect, it, onTestFinished } from "vitest";
import { ask, NO_POSTGRES, startPostgres } from "./support/start-postgres.ts";
import { startTally } from "./support/tally.ts";
import { until } from "./support/until.ts";

const MEGABYTES = 32;
const server = await startPostgres({ max_wal_size: "4MB", min_wal_size: "2MB" }, { smallLogDisk: MEGABYTES });

it.skipIf(server === undefined)(
  `delivers what it has accepted, and goes on by itself, when the disk of the write-ahead log was full (${server === undefined ? NO_POSTGRES : "PostgreSQL"})`,
  { timeout: 120_000 },
  async () => {
    const { url = "", logDisk = "" } = server ?? {};
    onTestFinished(() => server?.stop());
    const tally = await startTally();
    const store = postgresStore({ url, lease: "2s" });
    const sender = await createSender({ url: tally.url, store });
    onTestFinished(() => sender.close({ deadline: 2_000 }));
    // A standby that went away keeps the log from being removed.
    await ask(url, "SELECT pg_create_physical_replication_slot('gone', true)");
    const ballast = join(logDisk, "ballast");
    const { bavail, bsize } = statfsSync(logDisk);
    writeFileSync(ballast, Buffer.alloc(Math.floor((bavail * bsize) / 2)));
    const accepted = new Set<string>();
    /** Resolves to the code of the error, or nothing when it was accepted. */
    const track = async (): Promise<string | undefined> => {
      try {
        const note = randomBytes(10_000).toString("hex");
        const { messageId } = await sender.track({ userId: "u1", event: "Bought", properties: { note } });
        accepted.add(messageId);
        return undefined;
      } catch (error) {
        return (error as { readonly code: string }).code;
      }
    };
    const refused: string[] = [];
    await until("the database is down for good", async () => {
      const codes = await Promise.all(Array.from({ length: 20 }, track));
      refused.push(...codes.filter((code) => code !== undefined));
      return refused.length > 100;
    });
    const known = ["ERR_STORE_FULL", "ERR_STORE_UNKNOWN", "ERR_STORE_FAILED"];
    for (const code of refused) expect(known).toContain(code);
    expect(accepted.size).toBeGreaterThan(0);
    // Someone makes room, and lets the standby go.
    truncateSync(ballast, 0);
    unlinkSync(ballast);
    await until("a call is accepted again", async () => (await track()) === undefined);
    await ask(url, "SELECT pg_drop_replication_slot('gone')");
    await until("what was accepted is delivered", () => [...accepted].every((id) => tally.arrivals.has(id)));
    await sender.idle();
  },
);
