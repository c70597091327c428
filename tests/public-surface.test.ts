import { execFile } from "node:child_process";
import { appendFile, cp, mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { afterAll, beforeAll, describe, expect, it } from "vitest";

const run = promisify(execFile);
const root = fileURLToPath(new URL("..", import.meta.url));

const copies: string[] = [];
afterAll(() => Promise.all(copies.map((copy) => rm(copy, { recursive: true }))));

/** A copy of a package, with more declarations in its entry. */
async function protocolWith(declarations: string): Promise<string> {
  const copy = await mkdtemp(join(tmpdir(), "countersign-surface-"));
  copies.push(copy);
  await cp(join(root, "packages/protocol"), join(copy, "packages/protocol"), {
    recursive: true,
    filter: (source) => !/[/\\](?:node_modules|src|test)(?:[/\\]|$)/.test(source),
  });
  await appendFile(join(copy, "packages/protocol/dist/index.d.ts"), declarations);
  return copy;
}

async function surface(...options: string[]): Promise<{ code: number; output: string }> {
  try {
    const { stdout, stderr } = await run(process.execPath, [join(root, "tools/surface.mjs"), ...options]);
    return { code: 0, output: stdout + stderr };
  } catch (error) {
    const { code, stdout, stderr } = error as { code: number; stdout: string; stderr: string };
    return { code, output: stdout + stderr };
  }
}

it("a change to what a package exports fails until it is recorded, and is printed", async () => {
  const copy = await protocolWith(
    "\n/** Planted. */\nexport declare function planted(amount: number): string;\n",
  );
  const failed = await surface("--check", copy);
  expect(failed.output).toContain("packages/protocol/api.txt is not what is exported");
  expect(failed.output).toContain("  + function planted(amount: number): string;\n");
  expect(failed.output).not.toContain("Planted.");
  expect(failed.code).toBe(1);
  expect((await surface(copy)).code).toBe(0);
  expect((await surface("--check", copy)).code).toBe(0);
});

describe("an entry that is not as apps need it fails", () => {
  let failed: Awaited<ReturnType<typeof surface>>;
  beforeAll(async () => {
    const copy = await protocolWith(`
interface Unnamed { readonly planted: true }
export declare function planted(): Promise<Unnamed>;
export interface PlantedOptions {
  readonly wrong?: string;
  readonly right?: string | undefined;
  /** As a rule, \`undefined\` is
   *  not wanted; here \`undefined\` is refused. */
  readonly said?: string;
}
`);
    failed = await surface(copy);
  });

  it("when it does not name the type of what it gives, since no app could declare what it exports of it", () => {
    expect(failed.output).toContain(
      "@countersign/protocol exports planted, and not the type that it gives: Unnamed",
    );
    expect(failed.code).toBe(1);
  });

  it("when an option may be left out and does not take undefined, unless its comment says that", () => {
    expect(failed.output.split("\n").filter((line) => line.includes("PlantedOptions"))).toEqual([
      "@countersign/protocol: PlantedOptions.wrong is optional, and does not take undefined",
    ]);
    expect(failed.code).toBe(1);
  });
});
