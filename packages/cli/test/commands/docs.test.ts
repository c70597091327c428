import { spawn } from "node:child_process";
import { once } from "node:events";
import { readFileSync, symlinkSync, mkdirSync, writeFileSync } from "node:fs";
import { delimiter, join } from "node:path";
import { fileURLToPath } from "node:url";
import { sign } from "@countersign/core";
import { createSender, sqliteStore } from "@countersign/sender";
import { FAULTS } from "@countersign/sender/faults";
import { afterAll, beforeAll, beforeEach, describe, expect, it, vi } from "vitest";
import { REJECTION_REASONS } from "@countersign/server";
import { COMMAND_EXAMPLES } from "../../src/commands/examples.ts";
import { runCommand, startServe } from "../support/command.ts";
import { runHere } from "../support/run-here.ts";
import { isWindows, noPosix } from "../../../core/test/support/windows.ts";
import { send } from "../../../server/test/support/http.ts";
import { startReceiver } from "../../../server/test/support/receiver.ts";
import { ask, NO_POSTGRES, startPostgres } from "../../../postgres/test/support/start-postgres.ts";
import { bin, commandFolder } from "../../../../tests/support/command.ts";
import { cleanUp, closing, temporaryDirectory } from "../../../../tests/support/resources.ts";

const packageRoot = fileURLToPath(new URL("../..", import.meta.url));
const guide = readFileSync(join(packageRoot, "../../docs/cli.md"), "utf8");
const ingestion = readFileSync(join(packageRoot, "../../docs/ingestion.md"), "utf8");

/** The database of the examples: its user, password and name are theirs. */
const database = await startPostgres({ fsync: "off" });

beforeAll(async () => {
  if (database === undefined) return;
  await ask(database.url, "CREATE DATABASE countersign");
  await ask(database.url, "ALTER ROLE countersign PASSWORD 'secret'");
});

afterAll(() => database?.stop());

/** An example that cannot run here; the names of tests say why. */
function lacksDatabase(text: string): boolean {
  return database === undefined && /countersign (?:work|move)/.test(text);
}

/** Where the receiver listens for which the examples name port 3000. The servers get any port that is free. */
let receiverPort: string;
let cwd: string;

beforeEach(async () => {
  const receiver = closing(await startReceiver("dev"));
  receiverPort = new URL(receiver.url).port;
  cwd = temporaryDirectory();
  mkdirSync(join(cwd, "bin"));
  const start = `exec "${process.execPath}" --import "${import.meta.resolve("../support/ports.mjs")}" "${bin}" "$@"`;
  writeFileSync(join(cwd, "bin", "countersign"), `#!/bin/sh\n${start}\n`, { mode: 0o755 });
  mkdirSync(join(cwd, "node_modules"));
  // A junction needs no privilege on Windows; elsewhere it is a link like any other.
  symlinkSync(commandFolder, join(cwd, "node_modules", "countersign"), "junction");
});

interface Run {
  readonly code: number | null;
  readonly output: string;
}

/** A script that imports needs a running server where the examples have it. Any other gets a free port for its own. */
async function serverPortFor(script: string): Promise<string> {
  if (!script.includes("countersign import")) return "0";
  const to = `http://127.0.0.1:${receiverPort}/webhooks`;
  return new URL((await startServe(["--to", to, "--secret", "dev"])).url).port;
}

/** Runs a script as it stands. One that serves is sent an event once it listens, and is then told to stop. */
async function runScript(script: string): Promise<Run> {
  const moved = `3000=${receiverPort},4010=${await serverPortFor(script)},4011=0,4020=0,5432=${database?.port ?? 0}`;
  const PATH = [join(cwd, "bin"), process.env["PATH"]].join(delimiter);
  const child = spawn("sh", ["-e", "-c", script], {
    cwd,
    env: { PATH, COUNTERSIGN_TEST_PORTS: moved },
    // A group of its own, so that the signal reaches the command and not the shell alone.
    detached: true,
    stdio: ["ignore", "pipe", "pipe"],
  });
  const stop = (signal: NodeJS.Signals): void => {
    if (child.pid !== undefined && child.exitCode === null) process.kill(-child.pid, signal);
  };
  cleanUp(() => child.exitCode === null && child.signalCode === null && stop("SIGKILL"));
  let output = "";
  child.stdout.on("data", (data: Buffer) => (output += data.toString()));
  child.stderr.on("data", (data: Buffer) => (output += data.toString()));
  const closed = once(child, "close");
  if (script.includes("countersign serve")) {
    await vi.waitFor(() => expect(output).toContain("Look at"));
    const [, url = ""] = /listens on (\S+)/.exec(output) ?? [];
    for (const writeKey of ["shop-key", "blog-key"]) {
      await send(`${url}/v1/track`, { method: "POST", body: { writeKey, userId: "u", event: "Ordered" } });
    }
    await vi.waitFor(() => expect(output.match(/track "Ordered" u {2}204 in/g)).toHaveLength(2));
    stop("SIGTERM");
  }
  if (script.includes("countersign listen")) {
    await vi.waitFor(() => expect(output).toContain("Public"));
    const [, url = ""] = /listens on (http:\/\/[\d.:]+)/.exec(output) ?? [];
    const body = JSON.stringify({ version: 1, type: "track", userId: "u", event: "Ordered" });
    const headers = { "Content-Type": "application/json", "X-Signature": sign(body, "dev") };
    expect((await fetch(`${url}/hooks`, { method: "POST", headers, body })).status).toBe(204);
    await vi.waitFor(() => expect(output).toMatch(/verified 204 track "Ordered" of u/));
    stop("SIGTERM");
  }
  if (script.includes("countersign work")) {
    await vi.waitFor(() => expect(output).toContain("Works on the store"));
    stop("SIGTERM");
  }
  const [code] = await closed;
  return { code, output };
}

/** A pattern for the output that a guide shows: `…` stands for anything, and the server may have any port. */
function patternOf(text: string): RegExp {
  const pattern = text
    .trim()
    .replaceAll(/[\\^$.*+?()[\]{}|]/g, String.raw`\$&`)
    .replaceAll("…", ".+")
    // A server that is held up for a second does not wait for the answer.
    .replace("localhost:3000 answers", "(?:localhost:3000 answers|does not answer yet)")
    .replaceAll(/127\\.0\\.0\\.1:401[01]/g, String.raw`127\.0\.0\.1:\d+`);
  return new RegExp(`^${pattern}$`, "m");
}

interface Example {
  readonly language: string;
  readonly text: string;
  /** What stands in the comment before it, such as `file: countersign.config.ts`. */
  readonly note: string | undefined;
}

/** Says of output that no command before it printed it. */
const FROM_ELSEWHERE = "from a longer session";

function examplesOf(markdown: string): readonly Example[] {
  const blocks = markdown.matchAll(/(?:^<!-- (.*) -->\n\n)?^```(\w+)\n([^]*?)^```$/gm);
  return [...blocks].map(([, note, language = "", text = ""]) => ({ note, language, text }));
}

const without = database === undefined ? `, without work and move: ${NO_POSTGRES}` : "";

describe.skipIf(isWindows)(`the examples of docs/cli.md${without}${noPosix}`, () => {
  it("do what it says when they are run word for word, one after the other", async () => {
    const examples = examplesOf(guide).filter(
      ({ text, note }) => !text.startsWith("npm install") && note !== FROM_ELSEWHERE,
    );
    let run: Run | undefined;
    const ran: string[] = [];
    for (const { language, text, note } of examples) {
      if (language === "ts") writeFileSync(join(cwd, note?.replace("file: ", "") ?? ""), text);
      else if (language === "text") expect(run?.output).toMatch(patternOf(text));
      else {
        if (lacksDatabase(text)) continue;
        run = await runScript(text);
        const serves = /countersign (?:serve|listen|work)/.test(text);
        const expected = serves ? null : Number(note?.replace("exit: ", "") ?? 0);
        expect({ text, code: run.code, output: expect.any(String) }).toEqual({
          text,
          code: expected,
          output: run.output,
        });
        ran.push(text);
      }
    }
    expect(ran).toHaveLength(database === undefined ? 14 : 16);
  }, 120_000);
});

it("docs/ingestion.md lists every reason for which a message is rejected", () => {
  const [table = ""] = /^\| reason +\| meaning[^]*?\n\n/m.exec(ingestion) ?? [];
  const rows = [...table.matchAll(/^\| `(\w+)` +\| (.*?) +\|$/gm)].map(([, reason, meaning]) => [
    reason,
    meaning,
  ]);
  expect(rows).toEqual(Object.entries(REJECTION_REASONS));
});

describe("docs/cli.md", () => {
  it("has an example of every command", () => {
    const scripts = examplesOf(guide).filter(({ language }) => language === "sh");
    for (const command of Object.keys(COMMAND_EXAMPLES)) {
      expect(scripts.some(({ text }) => text.includes(`countersign ${command}`))).toBe(true);
    }
  });
});

describe(`--help${without}`, () => {
  it.each(Object.entries(COMMAND_EXAMPLES))("of %s has examples", async (command, examples) => {
    const { code, stdout } = await runHere([command, "--help"]);
    expect(code).toBe(0);
    for (const example of examples) expect(stdout).toContain(`\n  ${example}\n`);
  });

  it("of serve lists every fault that the sender knows", async () => {
    const { stdout } = await runHere(["serve", "--help"]);
    for (const fault of FAULTS) expect(stdout).toContain(`\n  ${fault}\n`);
  });

  it("of countersign has one too, and says what the exit codes mean", async () => {
    const { code, stdout } = await runCommand(["--help"]);
    expect(code).toBe(0);
    expect(stdout).toContain(COMMAND_EXAMPLES.serve[0]);
    expect(stdout).toContain("Exit codes: 0 success, 1 the check failed, 2 wrong usage.");
  });

  it.skipIf(isWindows).each(Object.entries(COMMAND_EXAMPLES))(
    `has examples of %s that work${noPosix}`,
    async (_command, examples) => {
      writeFileSync(join(cwd, "body.json"), "{}");
      const path = join(cwd, ".countersign", "deliveries.db");
      const store = sqliteStore({ path });
      await (await createSender({ url: "http://127.0.0.1:3000/", store, deliver: false })).close();
      const body = JSON.stringify({ version: 1, type: "track", userId: "u", event: "Ordered" });
      const headers = { "Content-Type": "application/json", "X-Signature": sign(body, "dev") };
      const call = { type: "track", userId: "u", event: "Ordered", timestamp: "2024-02-29T12:00:00Z" };
      writeFileSync(join(cwd, "calls.jsonl"), `${JSON.stringify(call)}\n`);
      writeFileSync(join(cwd, "traffic.jsonl"), `${JSON.stringify({ headers, body })}\n`);
      for (const example of examples) {
        if (lacksDatabase(example)) continue;
        const { code, output } = await runScript(example);
        expect({ example, code, output }).toEqual({
          example,
          code: /countersign (?:serve|listen|work)/.test(example) ? null : 0,
          output,
        });
      }
    },
    120_000,
  );

  it("is what the version goes with", async () => {
    expect(await runCommand(["--version"])).toMatchObject({
      code: 0,
      stdout: expect.stringMatching(/^\d+\.\d+\.\d+\n$/),
    });
  });
});
