import { execFile } from "node:child_process";
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { promisify } from "node:util";
import { expect, it } from "vitest";
import { canTrace } from "../../../sender/test/support/traced-disk.ts";
import { temporaryDirectory } from "../../../../tests/support/resources.ts";

const why = canTrace() ? "" : " (skipped: this machine has no strace that may trace)";

it.skipIf(!canTrace())(
  `a file that was replaced is on the disk by its name: a power cut takes it back no more${why}`,
  async () => {
    const folder = temporaryDirectory();
    const [file, calls] = [join(folder, "settings.json"), join(temporaryDirectory(), "calls")];
    writeFileSync(file, "old");
    const script = `
    import { replaceFile } from ${JSON.stringify(import.meta.resolve("@countersign/server/files"))};
    replaceFile(${JSON.stringify(file)}, "new");`;
    const strace = [
      "-y",
      "-qq",
      "-o",
      calls,
      "-P",
      folder,
      "-P",
      `${file}.new`,
      "-e",
      "trace=?rename,?renameat,?renameat2,fsync",
    ];
    const node = [process.execPath, "--input-type=module", "--eval", script];
    await promisify(execFile)("strace", [...strace, ...node]);
    expect(readFileSync(file, "utf8")).toBe("new");
    expect(readFileSync(calls, "utf8").trim().split("\n").slice(-2)).toEqual([
      expect.stringMatching(/^rename(?:at2?)?\(.*\) += 0$/),
      expect.stringMatching(new RegExp(`^fsync\\(\\d+<${folder}>\\) += 0$`)),
    ]);
  },
);
