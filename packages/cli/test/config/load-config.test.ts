import { chmodSync, chownSync, existsSync, mkdirSync, writeFileSync } from "node:fs";
import { dirname, join, posix, win32 } from "node:path";
import { pathToFileURL } from "node:url";
import { loadConfig } from "countersign";
import { beforeEach, describe, expect, it, vi } from "vitest";
import { isBelow, searchedFolders } from "../../src/config/trusted-folders.ts";
import { isWindows, noPosix } from "../../../core/test/support/windows.ts";
import { startServe } from "../support/command.ts";
import { temporaryDirectory } from "../../../../tests/support/resources.ts";

const CONFIG = { to: "http://127.0.0.1:9/" };

let root: string;

beforeEach(() => {
  root = temporaryDirectory();
});

/** Writes a file below the test's folder, and the folders it is in. */
function put(path: string, text = ""): string {
  const file = join(root, path);
  mkdirSync(dirname(file), { recursive: true });
  writeFileSync(file, text);
  return file;
}

/** A config file that leaves a trace when it is run. */
function putTrap(path: string): { readonly file: string; readonly hasRun: () => boolean } {
  const trace = join(root, "trace");
  const text = `import { writeFileSync } from "node:fs"; writeFileSync(${JSON.stringify(trace)}, ""); export default ${JSON.stringify(CONFIG)};`;
  return { file: put(path, text), hasRun: () => existsSync(trace) };
}

/** The last folder that is searched. */
function endOf(directory: string, home: string): string | undefined {
  return searchedFolders(directory, home).at(-1);
}

describe("the search for a config file", () => {
  it("ends at the folder with .git, so that a file in a shared folder above is not run", async () => {
    const trap = putTrap("countersign.config.mjs");
    mkdirSync(join(root, "repository/.git"), { recursive: true });
    mkdirSync(join(root, "repository/packages/app"), { recursive: true });
    expect(await loadConfig(join(root, "repository/packages/app"))).toBeUndefined();
    const file = put("repository/countersign.config.json", JSON.stringify(CONFIG));
    expect(await loadConfig(join(root, "repository/packages/app"))).toMatchObject({ file, config: CONFIG });
    expect(trap.hasRun()).toBe(false);
  });

  it("passes over an empty file, to one in a folder above", async () => {
    mkdirSync(join(root, ".git"));
    const file = put("countersign.config.json", JSON.stringify(CONFIG));
    put("app/countersign.config.ts", "\n");
    expect(await loadConfig(join(root, "app"))).toMatchObject({ file, config: CONFIG });
  });

  it.each([".cjs", ".cts", ".yaml", ".yml"])(
    "refuses a file that ends in %s, whose settings would not apply, unless one beside it is read",
    async (extension) => {
      mkdirSync(join(root, ".git"));
      put("countersign.config.json", JSON.stringify(CONFIG));
      const other = put(`app/countersign.config${extension}`, "module.exports = {};");
      await expect(loadConfig(join(root, "app"))).rejects.toThrow(
        `The config file ${other} is none of .ts, .mts, .js, .mjs, .json. Move its settings into countersign.config.js,`,
      );
      const file = put("app/countersign.config.js", `module.exports = ${JSON.stringify(CONFIG)};`);
      expect(await loadConfig(join(root, "app"))).toMatchObject({ file, config: CONFIG });
    },
  );

  it("needs no home directory, which a container's user may not have", async () => {
    put("countersign.config.json", JSON.stringify(CONFIG));
    // As for `docker run --user 12345` where HOME is not set.
    const preload = put(
      "homeless.mjs",
      'import os from "node:os"; import { syncBuiltinESMExports } from "node:module"; os.homedir = () => { throw new Error("uv_os_homedir returned ENOENT"); }; syncBuiltinESMExports();',
    );
    const env = { NODE_OPTIONS: `--import=${pathToFileURL(preload).href}` };
    const { stdout } = await startServe([], { cwd: root, env });
    await vi.waitFor(() => expect(stdout()).toContain(CONFIG.to));
  });

  it("without a repository ends at the topmost package.json below home, else where it began", () => {
    put("home/work/package.json");
    put("home/work/app/package.json");
    put("home/work/app/src/index.ts");
    put("package.json");
    const home = join(root, "home");
    expect(endOf(join(home, "work/app/src"), home)).toBe(join(home, "work"));
    expect(endOf(join(home, "work"), home)).toBe(join(home, "work"));
    put("home/package.json");
    expect(endOf(join(home, "other"), home)).toBe(join(home, "other"));
    expect(endOf(join(root, "elsewhere/app"), home)).toBe(join(root, "elsewhere/app"));
  });
});

it.each([
  [String.raw`c:\users\ada\app`, String.raw`C:\Users\Ada`, win32, true],
  [String.raw`C:\Users\Ada`, String.raw`C:\Users\Ada`, win32, false],
  [String.raw`C:\Users\Adam\app`, String.raw`C:\Users\Ada`, win32, false],
  [String.raw`D:\app`, String.raw`C:\Users\Ada`, win32, false],
  [String.raw`C:\app`, "C:\\", win32, true],
  ["/home/ada/..app", "/home/ada", posix, true],
  ["/home/adam/app", "/home/ada", posix, false],
  ["/home/Ada/app", "/home/ada", posix, false],
])("%s is not taken for a folder below %s by its letters alone", (folder, home, rules, isIn) => {
  expect(isBelow(folder, home, rules)).toBe(isIn);
});

describe.skipIf(isWindows)(`a config file that others may have written${noPosix}`, () => {
  it.each([
    ["is world-writable", (file: string) => chmodSync(file, 0o666), "everyone may write to"],
    [
      "is in a world-writable folder",
      (file: string) => chmodSync(dirname(file), 0o777),
      "everyone may write to",
    ],
  ])("is found but not run when it %s", async (_, open, words) => {
    const trap = putTrap("app/countersign.config.mjs");
    open(trap.file);
    await expect(loadConfig(join(root, "app"))).rejects.toThrow(
      `The config file ${trap.file} was found but not run: ${words}`,
    );
    expect(trap.hasRun()).toBe(false);
  });

  // Only root can give a file to somebody else.
  it.runIf(process.getuid?.() === 0)(
    "is found but not run when it, or its folder, belongs to another user",
    async () => {
      const trap = putTrap("app/countersign.config.mjs");
      chownSync(trap.file, 12_345, 12_345);
      await expect(loadConfig(join(root, "app"))).rejects.toThrow(`${trap.file} belongs to another user`);
      chownSync(trap.file, 0, 0);
      chownSync(dirname(trap.file), 12_345, 12_345);
      await expect(loadConfig(join(root, "app"))).rejects.toThrow(
        `${dirname(trap.file)} belongs to another user`,
      );
      expect(trap.hasRun()).toBe(false);
    },
  );

  it("is run when it is named with --config", async () => {
    const trap = putTrap("app/countersign.config.mjs");
    chmodSync(dirname(trap.file), 0o777);
    expect(await loadConfig(root, trap.file)).toMatchObject({ file: trap.file, config: CONFIG });
    expect(trap.hasRun()).toBe(true);
  });
});

it.each([
  ["url", "it is called to here"],
  ["endpoint", "it is called to here"],
  ["sharedSecret", "it is called secret here"],
  ["webhook_secret", "it is called secret here"],
  ["database", "it is called data here"],
  ["hostname", "it is called host here"],
  ["apiKey", "it is called token here"],
  ["header", "it is called headers here"],
  ["retention", 'it is called keepFor here, in milliseconds, or text such as "7d"'],
  ["limit", "it is called maxBytes here, a number of bytes"],
  ["maxRetries", "it is called retry here"],
  ["source", "it is called sources here"],
  ["deliver", "pass --no-deliver to serve, with --store"],
  ["store", "pass --store to serve"],
])("a config file with %s, as other tools call it, is refused: %s", async (name, says) => {
  const file = put("countersign.config.json", JSON.stringify({ ...CONFIG, [name]: "x" }));
  await expect(loadConfig(root)).rejects.toThrow(
    `The config file ${file} has the unknown setting "${name}": ${says}. Correct it,`,
  );
});

describe("a config file that is a module", () => {
  it.each([
    ["countersign.config.ts", `const config = ${JSON.stringify(CONFIG)};`, "exports nothing."],
    [
      "countersign.config.mjs",
      `export const config = ${JSON.stringify(CONFIG)}, more = 1;`,
      "exports config, more, and no default.",
    ],
    [
      "countersign.config.mts",
      `export const to: string = ${JSON.stringify(CONFIG.to)};`,
      "exports to, and no default.",
    ],
  ])(
    "without a default export, as %s with %s, is told what it exports, and not of a setting",
    async (name, text, says) => {
      const file = put(name, text);
      await expect(loadConfig(root)).rejects.toThrow(
        `The config file ${file} ${says} Write \`export default\` before its settings, or pass another file with --config.`,
      );
    },
  );

  it("may export other things beside its settings, and may be CommonJS", async () => {
    put("countersign.config.ts", `export const more = 1; export default ${JSON.stringify(CONFIG)};`);
    expect(await loadConfig(root)).toMatchObject({ config: CONFIG });
    const file = put("other.js", `module.exports = ${JSON.stringify(CONFIG)};`);
    expect(await loadConfig(root, file)).toMatchObject({ config: CONFIG });
  });

  it("with a default export that is nothing is told to export an object", async () => {
    put("countersign.config.ts", "export default undefined;");
    await expect(loadConfig(root)).rejects.toThrow("must export an object");
  });
});
