import { execFile } from "node:child_process";
import { readFileSync } from "node:fs";
import { promisify } from "node:util";
import { describe, expect, it } from "vitest";
import { startService } from "./support/service.ts";

const readme = readFileSync(new URL("../README.md", import.meta.url), "utf8");
const examples = [...readme.matchAll(/```ts\n(.*?)```/gs)].map(([, code]) => code ?? "");

async function run(code: string): Promise<string> {
  const args = ["--input-type=module", "-e", code];
  const { stdout, stderr } = await promisify(execFile)(process.execPath, args, { cwd: import.meta.dirname });
  return stdout + stderr;
}

describe("the README's", () => {
  it("first example does what it says", async () => {
    const service = await startService();
    const code = examples[0]?.replace("http://127.0.0.1:4010", service.url);
    const output = await run(`${code}; console.log(delivered, failed, dropped)`);
    expect(output).toBe("5 0 0\n");
    const types = service.messages.map((message) => message.type);
    expect(types).toEqual(["identify", "track", "page", "group", "alias"]);
  });

  it("example of a test passes", async () => {
    const code = examples.find((example) => example.includes("assertSent"));
    const output = await run(
      `import { Analytics } from "@countersign/client";${code}; console.log("passed")`,
    );
    expect(output).toBe("passed\n");
  });

  it("table of options has every option", async () => {
    const settings = readFileSync(new URL("../src/options.ts", import.meta.url), "utf8");
    const names = [...settings.matchAll(/^ {2}readonly (\w+)\?:/gm)].map(([, name]) => name);
    expect(names.length).toBeGreaterThan(20);
    // oxlint-disable-next-line unicorn/prefer-set-has -- a text, not a list
    const table = readme.slice(readme.indexOf("## Options"), readme.indexOf("**A full queue.**"));
    expect(names.filter((name) => !table.includes(`\`${name}\``))).toEqual([]);
  });
});
