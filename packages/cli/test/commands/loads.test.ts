import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { AS_BUN } from "../../../sender/test/support/as-bun.ts";
import { asData } from "../../../../tests/support/resolve-otherwise.ts";
import { runCommand } from "../support/command.ts";
import { SECRET, startReceiver } from "../../../server/test/support/receiver.ts";
import { temporaryDirectory } from "../../../../tests/support/resources.ts";

const printLoaded = new URL("../support/print-loaded.mjs", import.meta.url).href;

/** What only a process that listens, sends or stores needs: they take five times as long to load as all of the rest. */
const HEAVY =
  /\/node_modules\/(?:fastify|libsql|undici|pg|prom-client|@countersign\/(?:server|sender)\/dist\/index\.js)/;

/** What only the action of some command needs: nearly half of what a command loaded before it had read its options. */
const OF_AN_ACTION =
  /\/node_modules\/(?:cli-progress|@countersign\/core)\/|\/countersign\/dist\/(?:run-|codes)/;

/** The files that a command loads before it ends. */
async function loadedBy(args: readonly string[], cwd?: string): Promise<readonly string[]> {
  const { stderr } = await runCommand(args, { cwd, env: { NODE_OPTIONS: `--import ${printLoaded}` } });
  return [...stderr.matchAll(/^loads (\S+)$/gm)].map(([, url = ""]) => url);
}

describe("a command that only prints", () => {
  it.each([
    [["--version"]],
    [["--help"]],
    [["serve", "--help"]],
    [["explain", "ECONNREFUSED"]],
    [["completion", "bash"]],
    [["verify", "--secret", "dev", "--signature", "00", "package.json"]],
  ])("loads neither the server nor the engine: %j", async (args) => {
    const loaded = await loadedBy(args);
    expect(loaded).toContainEqual(expect.stringMatching(/\/countersign\/dist\/bin\.js$/));
    expect(loaded.filter((url) => HEAVY.test(url))).toEqual([]);
  });

  it.each([[["--version"]], [["--help"]], [["serve", "--port", "x"]]])(
    "loads nothing of an action: %j",
    async (args) => {
      expect((await loadedBy(args)).filter((url) => OF_AN_ACTION.test(url))).toEqual([]);
    },
  );

  it("is told apart from one that sends", async () => {
    const loaded = (await loadedBy(["send", "track", "--to", "http://127.0.0.1:1/"])).join("\n");
    expect(loaded).toMatch(HEAVY);
    expect(loaded).toMatch(OF_AN_ACTION);
  });
});

describe("serve", () => {
  const TO = ["--to", "http://127.0.0.1:1/"];

  it.each([
    [["--config", "none.json"]],
    [[...TO, "--no-deliver"]],
    [[...TO, "--store", "postgres://127.0.0.1/db", "--data", "data"]],
  ])("does not load the server to say what is wrong with its settings: %j", async (flags) => {
    const loaded = await loadedBy(["serve", ...flags], temporaryDirectory());
    expect(loaded.filter((url) => HEAVY.test(url))).toEqual([]);
  });

  it.each([
    ["countersign.config.json", "{}", false],
    ["countersign.config.mjs", "export default {}", true],
  ])("loads what runs a config file only where it is code: %s", async (name, config, expected) => {
    const cwd = temporaryDirectory();
    writeFileSync(join(cwd, name), config);
    const loaded = await loadedBy(["serve", ...TO, "--host", "http://x"], cwd);
    expect(loaded.some((url) => HEAVY.test(url))).toBe(true);
    expect(loaded.some((url) => url.includes("/node_modules/jiti/"))).toBe(expected);
  });
});

// As where libsql has no build for the machine, or its build was not installed.
describe("without the database's code for this machine", () => {
  const env = { NODE_OPTIONS: "--no-addons" };

  it("audits a receiver", async () => {
    const receiver = await startReceiver();
    const { code, stdout } = await runCommand(["certify", receiver.url, "--secret", SECRET], { env });
    expect(stdout).toContain(": passed");
    expect(code).toBe(0);
  });

  it.each([
    ["send", "track", "--to", "http://127.0.0.1:1/"],
    ["serve", "--to", "http://127.0.0.1:1/", "--port", "0"],
  ])("says in one line what is missing: %s", async (...args) => {
    const { code, stderr } = await runCommand(args, { env });
    expect(stderr).toMatch(
      /^countersign: The store :memory: cannot be opened: the database, libsql, cannot be loaded\. .*\n$/,
    );
    expect(code).toBe(2);
  });
});

describe("on a runtime that has something else in place of Node's modules, as Bun has", () => {
  const env = { NODE_OPTIONS: `--import=${AS_BUN}` };

  it.each([
    ["send", "track", "--to", "http://127.0.0.1:1/"],
    ["serve", "--to", "http://127.0.0.1:1/", "--port", "0"],
  ])("says with what to run it, and not that it should be reported: %s", async (...args) => {
    const { code, stderr } = await runCommand(args, { env });
    expect(stderr).toBe(
      "countersign: This command runs on Node only, and another runtime has started it. Run it with npx, or with node; with Bun, leave out --bun.\n",
    );
    expect(code).toBe(2);
  });
});

/** Node 22 imports its own undici with node:http, which fails, too. */
const WITHOUT_WEBASSEMBLY = `delete globalThis.WebAssembly; process.on("unhandledRejection", () => {});`;

it("without WebAssembly, a command that sends says which flags of Node it does not run with", async () => {
  const env = { NODE_OPTIONS: `--import=${AS_BUN} --import=${asData(WITHOUT_WEBASSEMBLY)}` };
  const { code, stderr } = await runCommand(["serve", "--to", "http://127.0.0.1:1/", "--port", "0"], { env });
  expect(stderr).toMatch(/^countersign: The sender needs WebAssembly.* Start Node without --jitless/);
  expect(code).toBe(2);
});

/** As with `ulimit -v`, where Node 20 may end before that, when its own undici is loaded. */
const WITHOUT_ADDRESSES = `WebAssembly.Memory = class { constructor() { throw new RangeError("could not allocate memory"); } };`;

it("without addresses for WebAssembly, a command that sends says which limit to raise, and not that this is no Node", async () => {
  const env = { NODE_OPTIONS: `--import=${asData(WITHOUT_ADDRESSES)}` };
  const { code, stderr } = await runCommand(["serve", "--to", "http://127.0.0.1:1/", "--port", "0"], { env });
  expect(stderr).toMatch(/^countersign: The sender needs WebAssembly.* Raise the limit/);
  expect(code).toBe(2);
});
