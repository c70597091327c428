import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { PassThrough } from "node:stream";
import { describe, expect, it } from "vitest";
import { run } from "../../src/run.ts";
import { jsonLine, printable, terminalOf, type Terminal } from "../../src/terminal/terminal.ts";
import { runCommand, startServe } from "../support/command.ts";
import { send } from "../../../server/test/support/http.ts";
import { SECRET, startReceiver } from "../../../server/test/support/receiver.ts";
import { closing, temporaryDirectory } from "../../../../tests/support/resources.ts";

interface Screen {
  readonly terminal: Terminal;
  readonly shown: () => string;
}

/** What a process sees of the world, with or without a terminal. */
function screen(isTTY: boolean, env: Readonly<Record<string, string>> = {}): Screen {
  let shown = "";
  const stream = (): object => {
    const through = new PassThrough();
    through.on("data", (data: Buffer) => (shown += data.toString()));
    return Object.assign(through, {
      // Where there is no terminal, Node's streams have no such property.
      ...(isTTY && { isTTY }),
      columns: 80,
      rows: 24,
      cursorTo: () => true,
      clearLine: () => true,
      moveCursor: () => true,
    });
  };
  const host = { stdin: stream(), stdout: stream(), stderr: stream(), env, cwd: () => temporaryDirectory() };
  return { terminal: terminalOf(host as unknown as NodeJS.Process), shown: () => shown };
}

function bodyFile(): string {
  const file = join(temporaryDirectory(), "body.json");
  writeFileSync(file, "{}");
  return file;
}

const ESCAPE = "\u001B";
const verify = (file: string): string[] => [
  "verify",
  "--secret",
  "dev",
  "--signature",
  "cfc8098c2e5655c926d75e61f3e90d09222286e4",
  file,
];

describe("colours", () => {
  it.each([
    ["are there on a terminal", true, {}, true],
    ["are not there elsewhere", false, {}, false],
    ["are not there where NO_COLOR is set", true, { NO_COLOR: "1" }, false],
    ["are not there on a terminal that would show their codes", true, { TERM: "dumb" }, false],
  ])("%s", async (_title, isTTY, env, coloured) => {
    const { terminal, shown } = screen(isTTY, env);
    expect(await run(verify(bodyFile()), terminal)).toBe(0);
    expect(shown()).toContain("match");
    expect(shown().includes(ESCAPE)).toBe(coloured);
  });
});

it("colours are not there in CI's log", async () => {
  const { code, stdout } = await runCommand(verify(bodyFile()), { env: { CI: "true", FORCE_COLOR: "1" } });
  expect(stdout).toContain("match");
  expect(stdout).not.toContain(ESCAPE);
  expect(code).toBe(0);
});

describe("the progress bar", () => {
  async function certifyOn(isTTY: boolean, ...options: string[]): Promise<string> {
    return certifyIn({}, isTTY, ...options);
  }

  async function certifyIn(
    env: Readonly<Record<string, string>>,
    isTTY: boolean,
    ...options: string[]
  ): Promise<string> {
    const receiver = closing(await startReceiver());
    const { terminal, shown } = screen(isTTY, env);
    const only = ["--only", "accepts-redelivery", "--only", "rejects-get"];
    expect(await run(["certify", receiver.url, "--secret", SECRET, ...only, ...options], terminal)).toBe(0);
    return shown();
  }

  it("of certify counts the audits on a terminal", async () => {
    const shown = await certifyOn(true);
    expect(shown).toContain("Auditing");
    expect(shown).toContain("2/2");
  });

  it("is missing on a terminal that cannot move its cursor", async () => {
    const shown = await certifyIn({ TERM: "dumb" }, true);
    expect([shown.includes("Auditing"), shown.includes(ESCAPE)]).toEqual([false, false]);
  });

  it("is missing elsewhere and with --json; with --verbose each audit is still printed", async () => {
    expect((await certifyOn(false)).split("\n")).toHaveLength(2);
    const plain = await certifyOn(false, "--verbose");
    expect(plain.split("\n")).toHaveLength(4);
    expect(plain).toMatch(/^✓ MUST +.*\(accepts-redelivery\)$/m);
    const json = await certifyOn(true, "--json");
    const lines = json
      .trim()
      .split("\n")
      .map((line) => JSON.parse(line) as object);
    expect(lines).toMatchObject([{ outcome: "passed" }, { outcome: "passed" }, { passed: true }]);
    expect(plain + json).not.toContain("Auditing");
  });

  it("of replay is there on a terminal, and not elsewhere", async () => {
    const receiver = closing(await startReceiver());
    const file = join(temporaryDirectory(), "traffic.jsonl");
    const body = '{"type":"track","userId":"u","event":"e"}';
    writeFileSync(
      file,
      `${JSON.stringify({ headers: { "Content-Type": "application/json" }, body })}\n`.repeat(20),
    );
    for (const isTTY of [true, false]) {
      const { terminal, shown } = screen(isTTY);
      expect(await run(["replay", file, "--to", receiver.url, "--secret", SECRET], terminal)).toBe(0);
      expect(shown().includes("Replaying")).toBe(isTTY);
      expect(shown()).toContain("20 sent, 20 answered 2xx, 0 not.");
    }
  });
});

describe("printable", () => {
  it("leaves ordinary text unchanged and escapes terminal control characters", () => {
    expect(printable("Café ☕ 日本 'x'")).toBe("Café ☕ 日本 'x'");
    expect(printable("\u001B[2J\u0007\n\r\u009B\u202E\u2028\u{E0001}")).toBe(
      "\\u001b[2J\\u0007\\u000a\\u000d\\u009b\\u202e\\u2028\\u{e0001}",
    );
  });
});

describe("what others sent", () => {
  /** An escape sequence in seven and in eight bits, a deletion, marks that turn the direction, and one beyond the 16 bits. */
  const hostile = "a\u001B[31m\u009B2J\u007F\u202E\u2066\u200F\u2028\u{E0001}b";
  const unprintable = /[^\P{C}\n]|[\u2028\u2029]/u;

  it.each([["--json"], []])(
    "reaches no terminal as control or bidirectional characters (%s)",
    async (...flags) => {
      const receiver = closing(await startReceiver());
      const server = await startServe(["--to", receiver.url, "--secret", SECRET, ...flags]);
      const body = { writeKey: "any", userId: hostile, event: hostile, messageId: hostile };
      await send(`${server.url}/v1/track`, { method: "POST", body });
      await send(`${server.url}/v1/track`, { method: "POST", body: { ...body, userId: [hostile] } });
      await send(`${server.url}/v1/track`, {
        method: "POST",
        body: { ...body, messageId: "off", integrations: { All: false } },
      });
      await server.printed(/204 in|"delivered"/);
      await server.printed(/rejected/);
      await server.printed(/skipped/);
      expect(server.stdout() + server.stderr()).not.toMatch(unprintable);
    },
  );

  it("is the same again when its JSON is read", () => {
    const line = jsonLine({ hostile });
    expect(line).not.toMatch(unprintable);
    expect(JSON.parse(line)).toEqual({ hostile });
  });
});
