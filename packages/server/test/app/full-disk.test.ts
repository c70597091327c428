import { execFile } from "node:child_process";
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { promisify } from "node:util";
import { expect, it } from "vitest";
import { isWindows, noPosix } from "../../../core/test/support/windows.ts";
import { temporaryDirectory } from "../../../../tests/support/resources.ts";

it.skipIf(isWindows)(
  `a disk that becomes full during a write is an error, and the settings are as they were${noPosix}`,
  async () => {
    const data = temporaryDirectory();
    const script = join(import.meta.dirname, "..", "support", "child-full-disk.mjs");
    // Some 4 KiB, so that the system writes a part, and refuses the rest.
    const limited = 'ulimit -S -f 8; exec "$0" "$@"';
    const { stdout } = await promisify(execFile)("sh", ["-c", limited, process.execPath, script, data]);
    expect(JSON.parse(stdout)).toEqual([
      expect.stringMatching(/settings file .+ cannot be written: EFBIG.+Make room/),
      expect.stringMatching(/Nothing more is recorded into .+: EFBIG.+Make room/),
    ]);
    // What was written of the new settings is removed.
    expect(readdirSync(data).filter((name) => name.endsWith(".new"))).toEqual([]);
    const settings = readFileSync(join(data, "settings.json"), "utf8");
    expect(JSON.parse(settings)).toMatchObject({ sources: [{ destinations: [{ secret: "s" }] }] });
    const [first = "", cutOff, ...others] = readFileSync(join(data, "traffic.jsonl"), "utf8").split("\n");
    expect(JSON.parse(first)).toMatchObject({ url: "http://127.0.0.1:9/" });
    expect(cutOff).toMatch(/^\{/);
    expect(others).toEqual([]);
  },
);
