import { existsSync, readdirSync, readlinkSync } from "node:fs";
import { createServer } from "@countersign/server";
import { sqliteStore } from "@countersign/sender";
import { describe, expect, it } from "vitest";
import { send } from "../support/http.ts";
import { temporaryDirectory } from "../../../../tests/support/resources.ts";

/** The files that this process has open; they are listed on Linux. */
const DESCRIPTORS = "/proc/self/fd";

describe.skipIf(!existsSync(DESCRIPTORS))("a server that has closed", () => {
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
});

function openFilesIn(folder: string): readonly string[] {
  return readdirSync(DESCRIPTORS)
    .map((descriptor) => {
      try {
        return readlinkSync(`${DESCRIPTORS}/${descriptor}`);
      } catch {
        // That of the list itself.
        return "";
      }
    })
    .filter((file) => file.startsWith(folder));
}
