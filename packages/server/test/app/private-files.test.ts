import { chmodSync, lstatSync, mkdirSync, readFileSync, statSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { createServer } from "@countersign/server";
import { describe, expect, it } from "vitest";
import { isWindows, noPosix } from "../../../core/test/support/windows.ts";
import { send } from "../support/http.ts";
import { startReceiver } from "../support/receiver.ts";
import { closing, temporaryDirectory } from "../../../../tests/support/resources.ts";

function modeOf(path: string): string {
  return (statSync(path).mode & 0o777).toString(8);
}

/** An empty file that everyone may read, whatever the umask is. */
function writeForAll(path: string): void {
  writeFileSync(path, "");
  chmodSync(path, 0o644);
}

describe.skipIf(isWindows)(`files about people can be read by their owner only${noPosix}`, () => {
  it.each([
    ["new", []],
    ["left readable by an earlier version", ["server.db", "traffic.jsonl"]],
  ])("when they are %s: the ledger with its log, the settings and recordings", async (_, existing) => {
    const folder = temporaryDirectory();
    const data = join(folder, "data");
    if (existing.length > 0) mkdirSync(data, { mode: 0o700 });
    for (const file of existing) writeForAll(join(data, file));
    const record = join(existing.length > 0 ? data : folder, "traffic.jsonl");
    const receiver = closing(await startReceiver());
    const server = closing(await createServer({ to: receiver.url, port: 0, data, record }));
    await send(`${server.url}/api/sources/shop`, { method: "PUT", body: {} });
    const body = { writeKey: "any", userId: "u", event: "e", messageId: "m" };
    await send(`${server.url}/v1/track`, { method: "POST", body });
    await server.sender.idle();
    const files = ["server.db", "server.db-wal", "server.db-shm", "settings.json"].map((name) =>
      join(data, name),
    );
    expect([...files, record].map((file) => [file, modeOf(file)])).toEqual(
      [...files, record].map((file) => [file, "600"]),
    );
    expect(modeOf(data)).toBe("700");
  });

  it("and settings are not written where somebody has put a link, or a file to read them in", async () => {
    const folder = temporaryDirectory();
    const data = join(folder, "data");
    mkdirSync(data, { mode: 0o700 });
    const elsewhere = join(folder, "elsewhere");
    writeFileSync(elsewhere, "untouched", { mode: 0o666 });
    const next = join(data, "settings.json.new");
    symlinkSync(elsewhere, next);
    const server = closing(await createServer({ to: "http://127.0.0.1:9/", port: 0, data }));
    const put = async (name: string): Promise<number> =>
      (await send(`${server.url}/api/sources/${name}`, { method: "PUT", body: {} })).status;
    expect(await put("shop")).toBe(200);
    expect(readFileSync(elsewhere, "utf8")).toBe("untouched");
    writeForAll(next);
    expect(await put("blog")).toBe(200);
    const file = join(data, "settings.json");
    expect([lstatSync(file).isFile(), modeOf(file)]).toEqual([true, "600"]);
  });

  it("and an existing folder keeps its mode", async () => {
    const data = join(temporaryDirectory(), "data");
    mkdirSync(data);
    chmodSync(data, 0o755);
    closing(await createServer({ to: "http://127.0.0.1:9/", port: 0, data }));
    expect(modeOf(data)).toBe("755");
  });
});
