import { spawn, type ChildProcess } from "node:child_process";
import { once } from "node:events";
import {
  chmodSync,
  copyFileSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from "node:fs";
import { readdir } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { describe, expect, it, onTestFinished, vi } from "vitest";
import { hasBash, noBash } from "../support/bash.ts";

const root = fileURLToPath(new URL("../..", import.meta.url));

/** What the stubs of npm and npx do for each phase: lines of sh. */
type Phases = Readonly<
  Partial<Record<"test" | "runtimes" | "packages" | "timezones" | "hosts" | "demo", string>>
>;

/** A report of Vitest with tests of these states. */
function report(...states: readonly string[]): string {
  return reportOf("it broke", states);
}

function reportOf(message: string, states: readonly string[]): string {
  const assertionResults = states.map((status, index) => ({
    status,
    fullName: `test ${index}`,
    duration: 29_999.6,
    failureMessages: status === "failed" ? [`${message}\n  at line 1`] : [],
  }));
  const file = {
    name: "a.test.ts",
    status: states.includes("failed") ? "failed" : "passed",
    assertionResults,
  };
  return `printf %s '${JSON.stringify({ testResults: [file] })}' >"$VITEST_REPORT"`;
}

const PASS: Required<Phases> = {
  test: report("passed", "passed"),
  runtimes: 'echo "3 passed, 0 failed"',
  packages: 'echo "4 passed, 0 failed"',
  timezones: report("passed", "passed", "passed", "passed", "passed"),
  hosts: report("passed"),
  demo: "echo shown",
};

/** A copy of the script beside an npm and an npx that do what a test wants. */
function prepare(phases: Phases): { readonly folder: string; readonly env: NodeJS.ProcessEnv } {
  const folder = mkdtempSync(join(tmpdir(), "countersign ci-"));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  for (const name of [".ci", "scripts", "bin", "temporary files"]) mkdirSync(join(folder, name));
  for (const name of [".ci/run", "scripts/count-tests.mjs", "package.json"])
    copyFileSync(join(root, name), join(folder, name));
  const actions = { ...PASS, ...phases };
  const program = (name: string, text: string): void => {
    writeFileSync(join(folder, "bin", name), `#!/bin/sh\n${text}\n`);
    chmodSync(join(folder, "bin", name), 0o755);
  };
  program("npm", `case "$*" in test) ${actions.test} ;; "run demo") ${actions.demo} ;; *) exit 64 ;; esac`);
  program(
    "npx",
    `shift 3; case "$*" in
      runtimes) ${actions.runtimes} ;; check:packages) ${actions.packages} ;;
      timezones) ${actions.timezones} ;; hosts) ${actions.hosts} ;; *) exit 64 ;; esac`,
  );
  // Nothing is missing, so nothing is installed.
  const wanted = /^wanted=\((.*)\)$/m.exec(readFileSync(join(root, ".ci/run"), "utf8"))?.[1] ?? "";
  for (const pair of wanted.split(" ")) program(pair.split(":")[0] ?? "", "exit 64");
  const env = {
    PATH: `${join(folder, "bin")}:${process.env["PATH"]}`,
    TMPDIR: join(folder, "temporary files"),
  };
  return { folder, env };
}

interface Ended {
  readonly code: number | null;
  readonly lines: readonly string[];
}

function start(folder: string, env: NodeJS.ProcessEnv): { child: ChildProcess; ended: Promise<Ended> } {
  const child = spawn("bash", [join(folder, ".ci/run")], { env, stdio: ["ignore", "pipe", "pipe"] });
  let output = "";
  for (const stream of [child.stdout, child.stderr])
    stream?.on("data", (text: Buffer) => (output += text.toString()));
  const ended = once(child, "close").then(([code]: unknown[]) => ({
    code: code as number | null,
    lines: output.trimEnd().split("\n"),
  }));
  return { child, ended };
}

function run(phases: Phases): Promise<Ended> {
  const { folder, env } = prepare(phases);
  return start(folder, env).ended;
}

/** Whether a process runs. One that has ended stays known until its parent, here the first process, has asked how. */
function isRunning(pid: number): boolean {
  try {
    return !/\) Z /.test(readFileSync(`/proc/${pid}/stat`, "utf8"));
  } catch {
    return false;
  }
}

/** What stands between "== what failed" and the last line. */
function failuresIn({ lines }: Ended): readonly string[] {
  return lines.slice(lines.indexOf("== what failed") + 1, -1);
}

// It wants Debian.
const isElsewhere = process.platform !== "linux";

describe.skipIf(isElsewhere || !hasBash)(
  `.ci/run${isElsewhere ? " (skipped: this is no Linux)" : noBash}`,
  () => {
    it("adds up what passed in every phase", async () => {
      const { code, lines } = await run({});
      expect([code, lines.at(-1)]).toEqual([0, "16 passed, 0 failed"]);
      const phases = lines.filter((line) => line.startsWith("== "));
      expect(phases).toEqual(
        ["npm test", "runtimes", "packages", "time zones", "hosts", "demo"].map((name) => `== ${name}`),
      );
    });

    it.each<[string, Phases, string, RegExp]>([
      [
        "a test that fails",
        { test: `${report("passed", "failed")}; exit 1` },
        "15 passed, 1 failed",
        /^failed: a\.test\.ts: test 1: it broke$/,
      ],
      [
        "a test that ran out of time",
        // What Vitest reports then.
        { test: `${reportOf("Error: STACK_TRACE_ERROR", ["passed", "failed"])}; exit 1` },
        "15 passed, 1 failed",
        /^failed: a\.test\.ts: test 1: timed out after 30000 ms$/,
      ],
      [
        "a test that is skipped",
        { hosts: report("skipped") },
        "15 passed, 1 failed",
        /^skipped: a\.test\.ts: test 0/,
      ],
      [
        "an error that no test has caught",
        { test: `${PASS.test}; echo "Unhandled Rejection"; exit 1` },
        "16 passed, 1 failed",
        /^Unhandled Rejection$/,
      ],
      [
        "a check before the tests",
        { test: "echo Found 1 error; exit 1" },
        "14 passed, 1 failed",
        /^Cannot read the test report/,
      ],
      [
        "a phase that is killed",
        { packages: "kill -9 $$" },
        "12 passed, 1 failed",
        /^FAILED {2}packages: .* 137/,
      ],
      [
        "one that is killed after its sum",
        { packages: `${PASS.packages}; kill -9 $$` },
        "16 passed, 1 failed",
        /^FAILED {2}packages: .* 137, after "4 passed, 0 failed"$/,
      ],
      [
        "the one beside the others that is killed",
        { hosts: "kill -9 $$" },
        "15 passed, 1 failed",
        /^Cannot read the test report/,
      ],
      [
        "a phase that tells no sum",
        { packages: "true" },
        "12 passed, 1 failed",
        /^FAILED {2}packages: .* 0$/,
      ],
      [
        "a phase without a test",
        { runtimes: 'echo "0 passed, 0 failed"' },
        "13 passed, 1 failed",
        /runtimes/,
      ],
      ["the demo", { demo: "echo wrong; exit 1" }, "15 passed, 1 failed", /^FAILED {2}demo: .* 1$/],
    ])("counts and names %s", async (_title, phases, sum, named) => {
      const ended = await run(phases);
      expect([ended.code, ended.lines.at(-1)]).toEqual([1, sum]);
      expect(failuresIn(ended)).toContainEqual(expect.stringMatching(named));
    });

    it("tells of a browser that waited in vain what it waited for, and where", async () => {
      const message = [
        "locator.waitFor: Timeout 500ms exceeded.",
        "Call log:",
        '\u001B[2m  - waiting for getByText("never there") to be visible\u001B[22m',
        ...Array.from({ length: 1_000 }, () => "\u001B[2m    - waiting 100ms\u001B[22m"),
        "",
        "    at waitFor (FOLDER/node_modules/a/index.js:1:2)",
        "    at show (file://FOLDER/support/show it.js:3:36)",
        "    at FOLDER/a.test.ts:7:15",
        "    at async FOLDER/a.test.ts:9:1",
      ].join("\n");
      const inFolder = 'sed -i "s#FOLDER#$PWD#g" "$VITEST_REPORT"';
      const [line = ""] = failuresIn(
        await run({ test: `${reportOf(message, ["failed"])}; ${inFolder}; exit 1` }),
      );
      expect(line).toMatch(
        /^failed: a\.test\.ts: test 0: locator\.waitFor: Timeout 500ms exceeded\. Call log: - waiting for getByText\("never there"\) to be visible - waiting 100ms - /,
      );
      expect(line).toMatch(/, at support\/show it\.js:3, at a\.test\.ts:7$/);
      expect(line.length).toBeLessThan(1_300);
    });

    it("starts nothing without a folder for its reports, as on a full disk", async () => {
      const { folder, env } = prepare({ test: "touch started" });
      const { code } = await start(folder, { ...env, TMPDIR: join(folder, "nowhere") }).ended;
      expect(code).toBe(1);
      expect(existsSync(join(folder, "started"))).toBe(false);
    });

    it.each([
      ["", ""],
      // What bash does on a machine that gives it no time just then.
      [" as soon as the hosts run", 'trap \'[ "$BASH_COMMAND" != "set +m" ] || sleep 600\' DEBUG'],
    ])("that is ended%s leaves neither processes nor files behind", async (_, before) => {
      const { folder, env } = prepare({ hosts: "echo $$ >beside; exec sleep 600" });
      writeFileSync(join(folder, "before.sh"), before);
      const { child, ended } = start(folder, { ...env, BASH_ENV: join(folder, "before.sh") });
      const beside = join(folder, "beside");
      await vi.waitFor(() => expect(readFileSync(beside, "utf8")).toMatch(/\d\n/));
      child.kill("SIGTERM");
      await ended;
      const pid = Number(readFileSync(beside, "utf8"));
      await vi.waitFor(() => expect(isRunning(pid)).toBe(false));
      expect(await readdir(env["TMPDIR"] ?? "")).toEqual([]);
    });
  },
);
