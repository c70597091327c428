import { execFile } from "node:child_process";
import { cp, mkdir, mkdtemp, rm, symlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { afterEach, describe, expect, it } from "vitest";

const run = promisify(execFile);
const root = fileURLToPath(new URL("..", import.meta.url));
const copies: string[] = [];

/** A copy of every package's source, with one more file in it. */
async function copyWith(file: string, text: string): Promise<string> {
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
  await writeFile(join(copy, file), text);
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
    const { code, output } = await boundaries(await copyWith(file, `export * from "${target}";\n`));
    expect(output).toContain(`${file} -> ${target.replace("../..", "packages")}`);
    expect(code).toBe(1);
  });

  it("catch an import by package name", async () => {
    const copy = await copyWith("packages/koa/src/planted.ts", 'export * from "@countersign/express";\n');
    const { code, output } = await boundaries(copy);
    expect(output).toContain(
      "koa-imports-only-core: packages/koa/src/planted.ts -> packages/express/dist/index.js",
    );
    expect(code).toBe(1);
  });

  it("catch Node in the part of the core that runs everywhere", async () => {
    const copy = await copyWith(
      "packages/core/src/planted.ts",
      'export { createHmac } from "node:crypto";\n',
    );
    const { code, output } = await boundaries(copy);
    expect(output).toContain("core-and-protocol-are-runtime-neutral: packages/core/src/planted.ts -> crypto");
    expect(code).toBe(1);
  });

  it("hold for the packages as they are", async () => {
    const { code, output } = await boundaries(root);
    expect(output).toMatch(/^\d\d+ modules, 0 violations/);
    expect(code).toBe(0);
  });
});
