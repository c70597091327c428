import { spawnSync } from "node:child_process";
import { chmodSync, cpSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { describe, expect, it, onTestFinished } from "vitest";
import { isWindows, noPosix } from "../../packages/core/test/support/windows.ts";

const root = fileURLToPath(new URL("../..", import.meta.url));

/** Runs `scripts/with-pnpm.mjs` in a folder of this name, with an npx that prints what it was told. */
function runIn(
  name: string,
  args: readonly string[],
  env: Readonly<Record<string, string>> = {},
): { readonly status: number | null; readonly stdout: string; readonly stderr: string } {
  const folder = mkdtempSync(join(tmpdir(), "countersign-with-pnpm-"));
  onTestFinished(() => rmSync(folder, { recursive: true }));
  const [clone, bin] = [join(folder, name), join(folder, "bin")];
  mkdirSync(bin);
  writeFileSync(join(bin, "npx"), '#!/bin/sh\necho "$*"\nenv | grep ^npm_config_ | sort\n');
  chmodSync(join(bin, "npx"), 0o755);
  for (const file of ["scripts/with-pnpm.mjs", "scripts/command-files.mjs"])
    cpSync(join(root, file), join(clone, file));
  writeFileSync(join(clone, "package.json"), '{"packageManager":"pnpm@1.2.3"}');
  return spawnSync(process.execPath, [join(clone, "scripts/with-pnpm.mjs"), ...args], {
    env: { PATH: `${bin}:${process.env["PATH"]}`, ...env },
    encoding: "utf8",
  });
}

describe.skipIf(isWindows)(`scripts/with-pnpm.mjs${noPosix}`, () => {
  it("installs and runs a script with the pinned pnpm", () => {
    const { status, stdout } = runIn("clone", ["run:start", "--port", "0"]);
    expect(status).toBe(0);
    expect(stdout).toBe(
      "-y pnpm@1.2.3 install --frozen-lockfile --reporter=append-only --loglevel=warn\n-y pnpm@1.2.3 run run:start --port 0\n",
    );
  });

  it("works below npx -p node@24 -c, which leaves its own command to the next npx", () => {
    const { stdout } = runIn("clone", ["verify"], {
      npm_config_call: "npm test",
      npm_config_package: "node@24",
      npm_config_registry: "https://registry.example/",
    });
    const registry = "npm_config_registry=https://registry.example/\n";
    expect(stdout).toMatch(/^-y pnpm@1\.2\.3 install /);
    expect(stdout).toMatch(/run verify\n/);
    expect(stdout.match(/^npm_config_.*\n/gm)).toEqual([registry, registry]);
  });

  it("says before it installs anything that Vite cannot run tests below a folder with #, % or ? in its name", () => {
    for (const name of ["C# projects", "100% mine", "why?"]) {
      const { status, stdout, stderr } = runIn(name, ["verify"]);
      expect(status).toBe(2);
      expect(stdout).toBe("");
      expect(stderr).toContain(`${name}/`);
      expect(stderr).toMatch(/Move the folder to a path without them, and repeat the command\.\n$/);
    }
    expect(runIn("C# projects", ["run:demo"])).toMatchObject({ status: 0, stderr: "" });
  });
});
