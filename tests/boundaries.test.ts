import { execFile } from "node:child_process";
import { cp, mkdir, mkdtemp, rm, symlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { afterEach, describe, expect, it } from "vitest";

const run = promisify(execFile);
const root = fileURLToPath(new URL("..", import.meta.url));
const copies: string[] = [];

/** A copy of every package's source, with these files added to it or in place of its own. */
async function copyWith(files: Readonly<Record<string, string>>): Promise<string> {
  const copy = await mkdtemp(join(tmpdir(), "countersign-boundaries-"));
  copies.push(copy);
  await cp(join(root, "packages"), join(copy, "packages"), {
    recursive: true,
    filter: (source) => !/[/\\](?:node_modules|test|bench)(?:[/\\]|$)/.test(source),
  });
  await mkdir(join(copy, "node_modules/@countersign"), { recursive: true });
  for (const name of ["core", "express", "sender"]) {
    await symlink(join(copy, "packages", name), join(copy, "node_modules/@countersign", name));
  }
  for (const [file, text] of Object.entries(files)) {
    await mkdir(dirname(join(copy, file)), { recursive: true });
    await writeFile(join(copy, file), text);
  }
  return copy;
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

afterEach(async () => {
  await Promise.all(copies.splice(0).map((copy) => rm(copy, { recursive: true })));
});

describe("the directions between packages", () => {
  it.each([
    ["an adapter that imports another", "packages/koa/src/planted.ts", "../../express/src/verify-webhook.ts"],
    ["a core that imports the sender", "packages/core/src/planted.ts", "../../sender/src/index.ts"],
    ["a client that imports the core", "packages/client/src/planted.ts", "../../core/src/index.ts"],
  ])("catch %s", async (_, file, target) => {
    const { code, output } = await boundaries(await copyWith({ [file]: `export * from "${target}";\n` }));
    expect(output).toContain(`${file} -> ${target.replace("../..", "packages")}`);
    expect(code).toBe(1);
  });

  it("catch an import by package name", async () => {
    const copy = await copyWith({
      "packages/koa/src/planted.ts": 'export * from "@countersign/express";\n',
    });
    const { code, output } = await boundaries(copy);
    expect(output).toContain(
      "koa-imports-only-core-or-protocol: packages/koa/src/planted.ts -> packages/express/dist/index.js",
    );
    expect(code).toBe(1);
  });

  it("catch Node in the part of the core that runs everywhere, and in what the page loads", async () => {
    const copy = await copyWith({
      "packages/core/src/planted.ts": 'export { createHmac } from "node:crypto";\n',
      "packages/sender/src/explain/planted.ts": 'export { createHmac } from "node:crypto";\n',
    });
    const { code, output } = await boundaries(copy);
    for (const file of ["core/src/planted.ts", "sender/src/explain/planted.ts"])
      expect(output).toContain(`what-browsers-load-is-runtime-neutral: packages/${file} -> crypto`);
    expect(code).toBe(1);
  });

  it("catch two files that import each other, also where only types go back", async () => {
    const copy = await copyWith({
      "packages/express/src/one.ts": 'import type { Two } from "./two.ts";\nexport const one: Two = 1;\n',
      "packages/express/src/two.ts": 'import { one } from "./one.ts";\nexport type Two = typeof one;\n',
    });
    const { code, output } = await boundaries(copy);
    expect(output).toMatch(
      /^circle: packages\/express\/src\/one\.ts -> packages\/express\/src\/two\.ts -> packages\/express\/src\/one\.ts$/m,
    );
    expect(code).toBe(1);
  });

  it.each([
    ["an import", 'export { report } from "../report/planted.ts";'],
    ["an import of types", 'import type { report } from "../report/planted.ts";\nexport type T = report;'],
    ["a type that is imported inline", 'export type T = import("../report/planted.ts").report;'],
  ])("catch %s from a folder to one above it", async (_, text) => {
    const copy = await copyWith({
      "packages/certify/src/wire/planted.ts": `${text}\n`,
      "packages/certify/src/report/planted.ts": "export type report = 1;\nexport const report = 1;\n",
    });
    const { code, output } = await boundaries(copy);
    expect(output).toMatch(
      /^up: packages\/certify\/src\/wire\/planted\.ts -> packages\/certify\/src\/report\/planted\.ts \(in certify, report is above wire/m,
    );
    expect(code).toBe(1);
  });

  it("catch folders that import each other through different files, as a circle", async () => {
    const copy = await copyWith({
      "packages/certify/src/wire/planted.ts": 'export { b } from "../probe/planted.ts";\n',
      "packages/certify/src/probe/planted.ts": "export const b = 1;\n",
    });
    const { code, output } = await boundaries(copy);
    expect(output).toContain("(in certify, probe is above wire, and imports it: a circle)");
    expect(output).not.toMatch(/^circle: /m);
    expect(code).toBe(1);
  });

  it("catch a folder that imports a file on top of its package", async () => {
    const copy = await copyWith({
      "packages/certify/src/wire/planted.ts": 'export type { CertifyOptions } from "../certify.ts";\n',
    });
    const { code, output } = await boundaries(copy);
    expect(output).toContain("(in certify, certify.ts is above wire, and imports it: a circle)");
    expect(code).toBe(1);
  });

  it("catch a folder that has no place in the order", async () => {
    const copy = await copyWith({ "packages/certify/src/planted/planted.ts": "export const a = 1;\n" });
    const { code, output } = await boundaries(copy);
    expect(output).toContain("unordered: packages/certify/src/planted is in no list of LAYERS");
    expect(code).toBe(1);
  });

  it("hold for the packages as they are", async () => {
    const { code, output } = await boundaries(root);
    expect(output).toMatch(/^\d\d+ modules, 0 violations/m);
    expect(code).toBe(0);
  });
});
