import { join } from "node:path";
import { createServer } from "@countersign/server";
import { sqliteStore } from "@countersign/sender";
import Database from "libsql";
import { describe, expect, it } from "vitest";
import { send } from "../support/http.ts";
import { listsOpenFiles, openFilesIn } from "../../../../tests/support/open-files.ts";
import { temporaryDirectory } from "../../../../tests/support/resources.ts";

describe.runIf(listsOpenFiles)("a server that has closed", () => {
  it.each([
    ["its own store", () => undefined],
    ["a store of the caller", () => sqliteStore()],
  ])(
    "has no file of its data directory open, which could not be moved on some systems: %s",
    async (_, store) => {
      const data = temporaryDirectory();
      const server = await createServer({ to: "http://127.0.0.1:9/", port: 0, data, store: store() });
      // One that is rejected: the ledger keeps it.
      await send(`${server.url}/v1/batch`, {
        method: "POST",
        body: { writeKey: "any", batch: [{ type: "none" }] },
      });
      expect((await send(`${server.url}/api/rejections`)).json()).toHaveLength(1);
      expect(openFilesIn(data)).not.toEqual([]);
      await server.close();
      expect(openFilesIn(data)).toEqual([]);
    },
  );

  it("or could not start, has no file open that has to be moved away", async () => {
    const data = temporaryDirectory();
    const ledger = join(data, "server.db");
    const newer = new Database(ledger);
    newer.exec("PRAGMA user_version = 1000");
    newer.close();
    const starting = createServer({ to: "http://127.0.0.1:9/", port: 0, data, store: sqliteStore() });
    await expect(starting).rejects.toMatchObject({ code: "ERR_DATA_VERSION" });
    expect(openFilesIn(data)).toEqual([]);
  });
});
