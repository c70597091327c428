import { afterAll, describe, expect, it, vi } from "vitest";
import { NO_POSTGRES, startPostgres } from "../../../postgres/test/support/start-postgres.ts";
import { send } from "../../../server/test/support/http.ts";
import { startReceiver } from "../../../server/test/support/receiver.ts";
import { closing } from "../../../server/test/support/resources.ts";
import { runCommand, startCommand, startServe } from "../support/command.ts";

const database = await startPostgres({ fsync: "off" });

describe.skipIf(database === undefined)(
  `--store (${database === undefined ? NO_POSTGRES : "PostgreSQL"})`,
  () => {
    const url = database?.url ?? "";
    afterAll(() => database?.stop());

    it("has one process accept and another deliver, which learns the settings from the store", async () => {
      const receiver = closing(await startReceiver("dev"));
      const worker = startCommand(["work", "--store", url]);
      await worker.printed(/Works on the store 127\.0\.0\.1:\d+\/postgres: no sources yet/);
      const server = await startServe([
        "--store",
        url,
        "--no-deliver",
        "--to",
        receiver.url,
        "--secret",
        "dev",
      ]);
      await server.printed(/Kept in {5}127\.0\.0\.1:\d+\/postgres/);
      const call = { writeKey: "any", userId: "u1", event: "Signed Up" };
      const response = await send(`${server.url}/v1/track`, { method: "POST", body: call });
      expect(response.status).toBe(200);
      await vi.waitFor(() => expect(receiver.webhooks).toHaveLength(1), { timeout: 20_000, interval: 20 });
      for (const { process: child } of [server, worker]) child.kill("SIGTERM");
      expect(await server.ended).toBe(0);
      expect(await worker.ended).toBe(0);
      expect(server.stdout() + worker.stdout() + server.stderr() + worker.stderr()).not.toContain(
        "a-password",
      );
    });

    it.each([
      [["serve", "--no-deliver", "--to", "http://127.0.0.1:1/"], "--no-deliver needs --store"],
      [["work", "--store", "mysql://127.0.0.1/db"], "is not the URL of a PostgreSQL database"],
      [["work"], "--store"],
      [
        ["serve", "--store", "postgres://127.0.0.1/db", "--data", "x", "--to", "http://127.0.0.1:1/"],
        "--data",
      ],
    ])("refuses %j with a sentence that says what to do", async (args, words) => {
      const { code, stderr } = await runCommand(args);
      expect(stderr).toContain(words);
      expect(code).toBe(2);
    });

    it("says that the password is wrong, and does not print it", async () => {
      const wrong = url.replace(/:[^:@]+@/u, ":wrong-password@");
      const { code, stderr } = await runCommand(["work", "--store", wrong]);
      expect(stderr).toContain("refused the user or the password");
      expect(stderr).not.toContain("wrong-password");
      expect(code).toBe(2);
    });
  },
);
