import { execFile } from "node:child_process";
import { cp, mkdir, mkdtemp, rm, symlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join, relative } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { publicPackages } from "../scripts/public-packages.mjs";

const run = promisify(execFile);
const root = fileURLToPath(new URL("..", import.meta.url));

/** Files that break a rule each. They stand in one copy of the sources, which is read once: reading takes seconds. */
const PLANTED = {
  "packages/koa/src/imports-adapter.ts": 'export * from "../../express/src/verify-webhook.ts";\n',
  "packages/core/src/imports-sender.ts": 'export * from "../../sender/src/index.ts";\n',
  "packages/client/src/imports-core.ts": 'export * from "../../core/src/index.ts";\n',
  "packages/koa/src/imports-by-name.ts": 'export * from "@countersign/express";\n',
  "packages/core/src/imports-node.ts": 'export { createHmac } from "node:crypto";\n',
  "packages/sender/src/explain/imports-node.ts": 'export { createHmac } from "node:crypto";\n',
  "packages/express/src/one.ts": 'import type { Two } from "./two.ts";\nexport const one: Two = 1;\n',
  "packages/express/src/two.ts": 'import { one } from "./one.ts";\nexport type Two = typeof one;\n',
  "packages/certify/src/report/target.ts": "export type report = 1;\nexport const report = 1;\n",
  "packages/certify/src/wire/imports-up.ts": 'export { report } from "../report/target.ts";\n',
  "packages/certify/src/wire/imports-types-up.ts":
    'import type { report } from "../report/target.ts";\nexport type T = report;\n',
  "packages/certify/src/wire/imports-inline-up.ts": 'export type T = import("../report/target.ts").report;\n',
  "packages/certify/src/wire/closes-circle.ts": 'export { b } from "../probe/target.ts";\n',
  "packages/certify/src/probe/target.ts": "export const b = 1;\n",
  "packages/certify/src/wire/imports-top.ts": 'export type { CertifyOptions } from "../certify.ts";\n',
  "packages/certify/src/planted/unordered.ts": "export const a = 1;\n",
};

let copy: string;
let planted: Awaited<ReturnType<typeof boundaries>>;

/** A copy of every package's source, with these files added to it. */
async function copyWith(files: Readonly<Record<string, string>>): Promise<string> {
  const directory = await mkdtemp(join(tmpdir(), "countersign-boundaries-"));
  await cp(join(root, "packages"), join(directory, "packages"), {
    recursive: true,
    filter: (source) => !/[/\\](?:node_modules|test|bench)(?:[/\\]|$)/.test(source),
  });
  await mkdir(join(directory, "node_modules/@countersign"), { recursive: true });
  for (const { manifest, folder } of publicPackages()) {
    const copied = join(directory, relative(root, folder));
    await symlink(copied, join(directory, "node_modules", manifest.name), "junction");
  }
  for (const [file, text] of Object.entries(files)) {
    await mkdir(dirname(join(directory, file)), { recursive: true });
    await writeFile(join(directory, file), text);
  }
  return directory;
}

async function boundaries(directory: string): Promise<{ code: number; output: string }> {
  try {
    const { stdout, stderr } = await run(process.execPath, [join(root, "tools/boundaries.mjs"), directory]);
    return { code: 0, output: stdout + stderr };
  } catch (error) {
    const { code, stdout, stderr } = error as { code: number; stdout: string; stderr: string };
    return { code, output: stdout + stderr };
  }
}

beforeAll(async () => {
  copy = await copyWith(PLANTED);
  planted = await boundaries(copy);
}, 120_000);

afterAll(() => rm(copy, { recursive: true }));

describe("the directions between packages", { timeout: 120_000 }, () => {
  it("make the command fail", () => {
    expect(planted.code).toBe(1);
  });

  it.each([
    [
      "an adapter that imports another",
      "packages/koa/src/imports-adapter.ts",
      "express/src/verify-webhook.ts",
    ],
    ["a core that imports the sender", "packages/core/src/imports-sender.ts", "sender/src/index.ts"],
    ["a client that imports the core", "packages/client/src/imports-core.ts", "core/src/index.ts"],
  ])("catch %s", (_, file, target) => {
    expect(planted.output).toContain(`${file} -> packages/${target}`);
  });

  it("catch an import by package name", () => {
    expect(planted.output).toContain(
      "koa-imports-only-core-or-protocol: packages/koa/src/imports-by-name.ts -> packages/express/dist/index.js",
    );
  });

  it.each(["core/src/imports-node.ts", "sender/src/explain/imports-node.ts"])(
    "catch Node in what runs everywhere: %s",
    (file) => {
      expect(planted.output).toContain(`what-browsers-load-is-runtime-neutral: packages/${file} -> crypto`);
    },
  );

  it("catch two files that import each other, also where only types go back", () => {
    expect(planted.output).toMatch(
      /^circle: packages\/express\/src\/one\.ts -> packages\/express\/src\/two\.ts -> packages\/express\/src\/one\.ts$/m,
    );
  });

  it.each([
    ["an import", "imports-up"],
    ["an import of types", "imports-types-up"],
    ["a type that is imported inline", "imports-inline-up"],
  ])("catch %s from a folder to one above it", (_, name) => {
    expect(planted.output).toContain(
      `up: packages/certify/src/wire/${name}.ts -> packages/certify/src/report/target.ts (in certify, report is above wire`,
    );
  });

  it("catch folders that import each other through different files, as a circle of folders, not of files", () => {
    expect(planted.output).toContain("(in certify, probe is above wire, and imports it: a circle)");
    expect(planted.output).not.toMatch(/^circle: .*certify/m);
  });

  it("catch a folder that imports a file on top of its package", () => {
    expect(planted.output).toContain("(in certify, certify.ts is above wire, and imports it: a circle)");
  });

  it("catch a folder that has no place in the order", () => {
    expect(planted.output).toContain("unordered: packages/certify/src/planted is in no list of LAYERS");
  });

  it("hold for the packages as they are: nothing is wrong but what was planted", () => {
    const wrong = [...Object.keys(PLANTED), "packages/certify/src/planted"];
    const lines = planted.output.split("\n").filter((line) => line !== "");
    expect(lines.filter((line) => !wrong.some((path) => line.includes(path)))).toEqual([
      expect.stringMatching(/^\d\d+ modules, \d+ violations$/),
    ]);
  });
});
