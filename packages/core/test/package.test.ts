import { execFileSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { describe, expect, it } from "vitest";

const root = fileURLToPath(new URL("..", import.meta.url));
const manifest = JSON.parse(readFileSync(`${root}package.json`, "utf8")) as {
  exports: Record<string, unknown>;
};
const subpaths = Object.keys(manifest.exports).map((path) => path.replace(/^\./, "@countersign/core"));
const modules = subpaths.filter((path) => !path.endsWith(".json"));

/** Runs a script as an app beside this package would: another process, no test runner. */
function run(kind: "module" | "commonjs", script: string, flags: readonly string[] = []): string {
  return execFileSync(process.execPath, [...flags, `--input-type=${kind}`, "--eval", script], {
    cwd: root,
    encoding: "utf8",
  });
}

describe("the package", () => {
  it("has these subpaths", () => {
    expect(subpaths.map((path) => path.replace("@countersign/core", "."))).toEqual([
      ".",
      "./node",
      "./web",
      "./shared-dedupe",
      "./diagnose",
      "./testing",
      "./schemas",
      "./otel",
      "./vectors.json",
      "./package.json",
    ]);
  });

  it.each(modules)("%s loads with import and with require, and gives the same names", (path) => {
    const imported = run("module", `console.log(Object.keys(await import("${path}")).sort().join())`);
    const required = run("commonjs", `console.log(Object.keys(require("${path}")).sort().join())`);
    expect(imported.trim()).not.toBe("");
    const names = (list: string): string[] =>
      list
        .trim()
        .split(",")
        .filter((name) => name !== "__esModule" && name !== "module.exports");
    expect(names(required)).toEqual(names(imported));
  });

  it("prints nothing, and holds no process open", () => {
    expect(run("module", modules.map((path) => `await import("${path}");`).join("\n"))).toBe("");
  });

  it("uses Node modules only in its Node entry points", () => {
    const script = `
      import { register } from "node:module";
      register("data:text/javascript," + encodeURIComponent(
        "export async function resolve(name, context, next) {" +
        "  if (name.startsWith('node:')) console.log(name, context.parentURL);" +
        "  return next(name, context); }"));
      const names = ["@countersign/core", "@countersign/core/testing", "@countersign/core/schemas"];
      for (const name of names) await import(name);`;
    const nodeImports = (...conditions: string[]): string[] =>
      // Some versions of Node ask the hook twice.
      [...new Set(run("module", script, conditions).split("\n"))].filter((line) =>
        line.includes("/core/dist/"),
      );
    expect(nodeImports("--conditions=workerd")).toEqual([]);
    // The very same script, to show that it would tell.
    expect(nodeImports()).toEqual([
      expect.stringMatching(/^node:buffer .*\/platform-node\.js$/),
      expect.stringMatching(/^node:crypto .*\/platform-node\.js$/),
      expect.stringMatching(/^node:util .*\/platform-node\.js$/),
    ]);
  });
});
