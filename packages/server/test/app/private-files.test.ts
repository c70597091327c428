import { execFile } from "node:child_process";
import { chmodSync, lstatSync, mkdirSync, readFileSync, statSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { promisify } from "node:util";
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

  // Only root can give files to another user, or become one.
  it.runIf(process.getuid?.() === 0)(
    "and those of another owner are used as they are, with a warning: a volume of Kubernetes has them, with `fsGroup`",
    async () => {
      const data = join(temporaryDirectory(), "data");
      const record = join(data, "traffic.jsonl");
      const first = await createServer({ to: "http://127.0.0.1:9/", port: 0, data, record });
      await first.close();
      const files = ["deliveries.db", "deliveries.db-lock", "server.db", "traffic.jsonl"];
      for (const file of files) chmodSync(join(data, file), 0o666);
      for (const folder of [data, join(data, "..")]) chmodSync(folder, 0o777);
      const script = `
        import { createServer } from ${JSON.stringify(import.meta.resolve("@countersign/server"))};
        process.setgid(65_534);
        process.setuid(65_534);
        const options = ${JSON.stringify({ to: "http://127.0.0.1:9/", port: 0, data, record })};
        const server = await createServer(options);
        const body = JSON.stringify({ writeKey: "any", userId: "u", event: "e" });
        const { status } = await fetch(server.url + "/v1/track", { method: "POST", body });
        console.log(status);
        await server.close();`;
      const node = [process.execPath, ["--input-type=module", "-e", script]] as const;
      const { stdout, stderr } = await promisify(execFile)(...node);
      expect(stdout).toBe("200\n");
      for (const file of files) expect(stderr).toContain(`The file ${join(data, file)} can be read by other`);
      expect(stderr).toContain("make the user of the process its owner");
    },
  );

  it("and an existing folder keeps its mode", async () => {
    const data = join(temporaryDirectory(), "data");
    mkdirSync(data);
    chmodSync(data, 0o755);
    closing(await createServer({ to: "http://127.0.0.1:9/", port: 0, data }));
    expect(modeOf(data)).toBe("755");
  });
});
