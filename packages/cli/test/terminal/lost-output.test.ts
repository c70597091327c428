import { spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import { closeSync, existsSync, openSync, readFileSync, writeFileSync } from "node:fs";
import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { isWindows, noPosix } from "../../../core/test/support/windows.ts";
import { send } from "../../../server/test/support/http.ts";
import { bin } from "../../../../tests/support/command.ts";
import { asData } from "../../../../tests/support/resolve-otherwise.ts";
import { cleanUp, closing, temporaryDirectory } from "../../../../tests/support/resources.ts";
import { type Receiver, SECRET, startReceiver } from "../../../server/test/support/receiver.ts";
import { startCommand, startServe, type RunningCommand } from "../support/command.ts";
import { hasPseudoTerminals, startOnTerminal } from "../support/pty.ts";

const FULL = "/dev/full";
const WAITS = isWindows ? " (skipped: Node waits there until a pipe is read)" : "";

async function record(url: string, event: string): Promise<number> {
  const body = { writeKey: "any", userId: "u1", event };
  return (await send(`${url}/v1/track`, { method: "POST", body })).status;
}

/** Runs a command whose standard output is a disk without room. */
async function onFullDisk(args: readonly string[]): Promise<{ code: unknown; complaints: string }> {
  const file = openSync(FULL, "w");
  const child = spawn(process.execPath, [bin, ...args], { stdio: ["ignore", file, "pipe"] });
  closeSync(file);
  cleanUp(() => child.kill("SIGKILL"));
  let complaints = "";
  child.stderr?.on("data", (data: Buffer) => {
    complaints += data.toString();
    if (complaints.includes("continues") && !child.killed) child.kill("SIGTERM");
  });
  const [code] = await once(child, "close");
  return { code, complaints };
}

it.skipIf(isWindows)(
  `a server whose log nobody reads keeps a mebibyte of it, serves on, and says how much was lost${WAITS}`,
  async () => {
    const receiver = closing(await startReceiver());
    const server = await startServe(["--to", receiver.url, "--secret", SECRET, "--json"]);
    server.process.stdout.pause();
    const pad = "x".repeat(500);
    const batch = Array.from({ length: 400 }, () => ({
      type: "track",
      userId: pad,
      event: "E",
      properties: { pad },
    }));
    // A pipe and this process take some hundred kilobytes, too; what has no limit would go on.
    for (let posts = 0; posts < 50 && server.stderr() === ""; posts += 1) {
      const body = { writeKey: "any", batch };
      expect((await send(`${server.url}/v1/batch`, { method: "POST", body })).status).toBe(200);
    }
    await server.printed(/Standard output is not read: .*The command continues/);
    expect(await record(server.url, "Lost")).toBe(200);
    await expect.poll(() => receiver.webhooks.some((webhook) => nameOf(webhook) === "Lost")).toBe(true);

    server.process.stdout.resume();
    const [, lost] = await server.printed(/Standard output is read again\. Lines that were lost: (\d+)\./);
    expect(await record(server.url, "After")).toBe(200);
    await server.printed(/"event":"delivered".*"After"/);
    server.process.kill("SIGTERM");
    expect(await server.ended).toBe(0);
    expect(server.stderr()).not.toMatch(/not read.*not read/s);
    expect(missingOf(server.stdout())).toBe(Number(lost));
  },
);

it.skipIf(!hasPseudoTerminals)("a server serves on while Ctrl-S holds its terminal", async () => {
  const receiver = closing(await startReceiver());
  const args = ["serve", "--port", "0", "--to", receiver.url, "--secret", SECRET, "--json"];
  const server = startOnTerminal(args, { columns: 80 });
  const [, url = ""] = await server.printed(/"url":"(http:[^"]+)/);
  server.type("\u0013");
  const batch = Array.from({ length: 100 }, () => ({ type: "track", userId: "u1", event: "E" }));
  // A terminal takes some kilobytes; these events are half a megabyte.
  for (let posts = 0; posts < 5; posts += 1) {
    const body = { writeKey: "any", batch };
    expect((await send(`${url}/v1/batch`, { method: "POST", body })).status).toBe(200);
  }
  expect(await record(url, "Last")).toBe(200);
  await expect.poll(() => receiver.webhooks.some((webhook) => nameOf(webhook) === "Last")).toBe(true);
  server.type("\u0011");
  await server.printed(/"event":"delivered".*"Last"/);
});

/** Sends calls until something has happened; each has to be answered. */
async function postUntil(url: string, isEnough: () => boolean): Promise<void> {
  const pad = "x".repeat(500);
  const call = { type: "track", userId: pad, event: "E", properties: { pad } };
  const body = { writeKey: "any", batch: Array.from({ length: 400 }, () => call) };
  for (let posts = 0; posts < 50 && !isEnough(); posts += 1)
    expect((await send(`${url}/v1/batch`, { method: "POST", body })).status).toBe(200);
}

it.skipIf(isWindows)(
  `a server that is stopped while nobody reads its log says how much of it is lost${WAITS}`,
  async () => {
    const receiver = closing(await startReceiver());
    const server = await startServe(["--to", receiver.url, "--secret", SECRET, "--json"]);
    server.process.stdout.pause();
    await postUntil(server.url, () => server.stderr() !== "");
    server.process.kill("SIGTERM");
    const [code] = await once(server.process, "exit");
    const [, lost] = await server.printed(/not read to its end\. Lines that were lost: up to (\d+)\./);
    server.process.stdout.resume();
    await server.ended;
    expect(code).toBe(0);
    expect(Number(lost)).toBeGreaterThanOrEqual(missingOf(server.stdout().replace(/[^\n]*$/, "")));
  },
);

/** Starts a command beside it with the same output, and ends with its input. Node then puts back how the output was. */
const BESIDE_ANOTHER = `
  const { spawn } = require("node:child_process");
  const child = spawn(process.execPath, process.argv.slice(1), { stdio: ["ignore", "inherit", "inherit"] });
  console.log(JSON.stringify({ pid: child.pid }));
  process.stdin.on("end", () => process.exit()).resume();`;

it.skipIf(isWindows)(
  `a server serves on although its log is not read, and a process of Node has ended that had the same pipe${WAITS}`,
  async () => {
    const receiver = closing(await startReceiver());
    const args = [bin, "serve", "--port", "0", "--to", receiver.url, "--secret", SECRET, "--json"];
    const other = spawn(process.execPath, ["-e", BESIDE_ANOTHER, ...args]);
    let [stdout, stderr] = ["", ""];
    other.stdout.on("data", (data: Buffer) => (stdout += data.toString()));
    other.stderr.on("data", (data: Buffer) => (stderr += data.toString()));
    await expect.poll(() => stdout).toMatch(/"pid"/);
    const pid = Number(/"pid":(\d+)/.exec(stdout)?.[1]);
    cleanUp(() => process.kill(pid, "SIGKILL"));
    await expect.poll(() => stdout).toMatch(/"url"/);
    const [, url = ""] = /"url":"(http:[^"]+)/.exec(stdout) ?? [];
    other.stdin.end();
    await once(other, "exit");
    other.stdout.pause();
    await postUntil(url, () => stderr !== "");
    expect(await record(url, "Last")).toBe(200);
    await expect.poll(() => stderr).toMatch(/Standard output is not read: .*The command continues/);
  },
);

it.skipIf(isWindows)(
  `a server whose recording is a pipe that nobody reads serves on, and says that it records no more${noPosix}`,
  async () => {
    const receiver = closing(await startReceiver());
    const pipe = join(temporaryDirectory(), "recording");
    spawnSync("mkfifo", [pipe]);
    const server = await startServe(["--to", receiver.url, "--secret", SECRET, "--quiet", "--record", pipe]);
    await postUntil(server.url, () => server.stderr() !== "");
    await server.printed(/Nothing more is recorded into .*: it is a pipe that is not read/);
    expect(await record(server.url, "Last")).toBe(200);
    await expect.poll(() => receiver.webhooks.some((webhook) => nameOf(webhook) === "Last")).toBe(true);

    const reader = spawn("cat", [pipe]);
    const isRead = once(reader, "close");
    cleanUp(() => reader.kill("SIGKILL"));
    let recording = "";
    reader.stdout.on("data", (data: Buffer) => (recording += data.toString()));
    await expect.poll(() => recording.length).toBeGreaterThan(1_048_576);
    await expect.poll(() => recording).toMatch(/\n$/);
    server.process.kill("SIGTERM");
    expect(await server.ended).toBe(0);
    await isRead;
    const lines = recording.trimEnd().split("\n");
    expect(lines.every((line) => line.startsWith("{") && line.endsWith("}"))).toBe(true);
  },
);

/** Ends a process in the very moment in which it would leave its reader behind. */
const WITHOUT_LAST_MOMENTS = {
  NODE_OPTIONS: `--import=${asData(`
    const { setTimeout: later } = globalThis;
    globalThis.setTimeout = (run, ms, ...rest) => later(run, ms === 250 ? 0 : ms, ...rest);`)}`,
};

/** Starts an import of which so many lines are rejected and nobody reads that; it has ended but for its reader then. */
async function startUnreadImport(rejected: number): Promise<RunningCommand> {
  const url = await startRejecting("bad");
  const file = join(temporaryDirectory(), "calls.jsonl");
  const line = (index: number): string =>
    JSON.stringify({
      type: "track",
      userId: index % 2 === 0 ? "good" : "bad",
      event: "E",
      timestamp: "2024-02-29T12:00:00Z",
    });
  writeFileSync(file, Array.from({ length: 2 * rejected }, (_, index) => `${line(index)}\n`).join(""));
  const command = startCommand(["import", file, "--server", url, "--json"], { env: WITHOUT_LAST_MOMENTS });
  command.process.stdout.pause();
  const progress = `${file}.progress`;
  await expect.poll(() => existsSync(progress) && readFileSync(progress, "utf8")).toMatch(/"done": true/);
  return command;
}

it.skipIf(isWindows)(`an import tells each rejected line also to a reader that is slow${WAITS}`, async () => {
  // More than a pipe takes, and than waits for the reader of a server.
  const rejected = 3_000;
  const command = await startUnreadImport(rejected);
  command.process.stdout.resume();
  expect(await command.ended).toBe(1);
  const lines = command.stdout().trimEnd().split("\n");
  expect(lines.length).toBe(rejected + 1);
  expect(JSON.parse(lines.at(-1) ?? "")).toMatchObject({ rejected, done: true });
});

it.skipIf(isWindows).each(["SIGTERM", "SIGHUP"] as const)(
  `an import that waits for its reader alone ends when it is told to stop, by %s${WAITS}`,
  async (signal) => {
    const command = await startUnreadImport(1_500);
    command.process.kill(signal);
    const [code] = await once(command.process, "exit");
    command.process.stdout.resume();
    await command.ended;
    expect(code).toBe(1);
    expect(command.stderr()).toMatch(
      /^countersign: Standard output was not read to its end\. .*up to \d+\.\n$/,
    );
  },
);

/** A service that rejects each batch with a call of this user. */
async function startRejecting(userId: string): Promise<string> {
  const message = "x".repeat(500);
  const server: Server = createServer((request, response) => {
    let text = "";
    request.on("data", (data: Buffer) => (text += data.toString()));
    request.on("end", () => {
      const { batch } = JSON.parse(text) as { readonly batch: readonly { readonly userId: string }[] };
      const isWrong = batch.some((call) => call.userId === userId);
      response.writeHead(isWrong ? 400 : 200).end(JSON.stringify({ success: !isWrong, message }));
    });
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  cleanUp(() => {
    server.closeAllConnections();
    server.close();
  });
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}

/** The name of a track message. */
function nameOf(webhook: Receiver["webhooks"][number]): string | undefined {
  return webhook.type === "track" ? webhook.event : undefined;
}

/** How many events of a log of JSON lines are not in it: their ids count up by one. */
function missingOf(log: string): number {
  const ids = Array.from(log.matchAll(/"id":"[0-9a-f]{10}-(\d+)"/g), ([, n]) => Number(n));
  return Math.max(...ids) - ids.length;
}

describe("a server whose log has no reader any more", () => {
  it.skipIf(isWindows)(`serves on, and finishes what runs when it is stopped${noPosix}`, async () => {
    const receiver = closing(await startReceiver());
    const server = await startServe(["--to", receiver.url, "--secret", SECRET, "--json"]);
    server.process.stdout.destroy();
    for (const event of ["One", "Two", "Three"]) expect(await record(server.url, event)).toBe(200);
    await expect.poll(() => receiver.webhooks.length).toBe(3);
    expect(await record(server.url, "Four")).toBe(200);
    await server.printed(/Standard output cannot be written: .*The command continues/);
    server.process.kill("SIGTERM");
    expect(await server.ended).toBe(0);
    expect(receiver.webhooks.length).toBe(4);
  });

  it.skipIf(isWindows)(`drains also where nobody reads its complaints${noPosix}`, async () => {
    const receiver = closing(await startReceiver());
    const server = await startServe(["--to", receiver.url, "--secret", SECRET]);
    server.process.stderr.destroy();
    expect(await record(server.url, "One")).toBe(200);
    server.process.kill("SIGTERM");
    expect(await server.ended).toBe(0);
    expect(server.stdout()).toContain("1 accepted, 1 delivered");
  });
});

it("a check whose lines nobody reads to the end does not pass for that: certify | head", async () => {
  const receiver = closing(await startReceiver());
  const junit = join(temporaryDirectory(), "certify.xml");
  const command = startCommand([
    "certify",
    receiver.url,
    "--secret",
    "another",
    "--verbose",
    "--junit",
    junit,
  ]);
  await command.printed(/accepts-track/);
  command.process.stdout.destroy();
  expect([await command.ended, command.stderr()]).toEqual([1, ""]);
  expect(readFileSync(junit, "utf8")).toContain('tests="60"');
});

describe.skipIf(!existsSync(FULL))("on a disk without room for its output", () => {
  it("a server continues, and says so once", async () => {
    const { code, complaints } = await onFullDisk(["serve", "--port", "0", "--to", "http://127.0.0.1:9/"]);
    expect(code).toBe(0);
    expect(complaints.match(/Standard output cannot be written: ENOSPC/g)).toHaveLength(1);
  });

  it("a command that only answers fails", async () => {
    const { code, complaints } = await onFullDisk(["explain"]);
    expect(code).toBe(2);
    expect(complaints).toContain("Standard output cannot be written: ENOSPC");
  });
});
