import { execFile } from "node:child_process";
import { appendFile, cp, mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { expect, it, onTestFinished } from "vitest";

const run = promisify(execFile);
const root = fileURLToPath(new URL("..", import.meta.url));

async function copyOfProtocol(): Promise<string> {
  const copy = await mkdtemp(join(tmpdir(), "countersign-surface-"));
  onTestFinished(() => rm(copy, { recursive: true }));
  await cp(join(root, "packages/protocol"), join(copy, "packages/protocol"), {
    recursive: true,
    filter: (source) => !/[/\\](?:node_modules|src|test)(?:[/\\]|$)/.test(source),
  });
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
  const copy = await copyOfProtocol();
  await surface(copy);
  await appendFile(
    join(copy, "packages/protocol/dist/index.d.ts"),
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

it("an entry that does not name the type of what it gives fails, since no app could declare what it exports of it", async () => {
  const copy = await copyOfProtocol();
  await appendFile(
    join(copy, "packages/protocol/dist/index.d.ts"),
    "\ninterface Unnamed { readonly planted: true }\nexport declare function planted(): Promise<Unnamed>;\n",
  );
  const { code, output } = await surface(copy);
  expect(output).toContain("@countersign/protocol exports planted, and not the type that it gives: Unnamed");
  expect(code).toBe(1);
});

it("an option that may be left out and does not take undefined fails, unless its comment says that", async () => {
  const copy = await copyOfProtocol();
  await appendFile(
    join(copy, "packages/protocol/dist/index.d.ts"),
    `
export interface PlantedOptions {
  readonly wrong?: string;
  readonly right?: string | undefined;
  /** As a rule, \`undefined\` is
   *  not wanted; here \`undefined\` is refused. */
  readonly said?: string;
}
`,
  );
  const { code, output } = await surface(copy);
  expect(output.split("\n").filter((line) => line.includes("PlantedOptions"))).toEqual([
    "@countersign/protocol: PlantedOptions.wrong is optional, and does not take undefined",
  ]);
  expect(code).toBe(1);
});
