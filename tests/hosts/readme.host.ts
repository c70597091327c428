import { readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { sign } from "@countersign/core";
import { describe, expect, inject, it, onTestFinished } from "vitest";
import { expectCertified } from "./support/certify-host.ts";
import { commandsIn, readPage, type Block } from "./support/page.ts";
import { createProject, MANAGERS, type Project } from "./support/project.ts";
import { cleanEnvironment, runToStatus, startServer, type Running } from "./support/run.ts";
import { freePort } from "../support/free-port.ts";

const README = readPage("README.md");
const OF_THE_COMMAND = readPage("packages/cli/README.md");

function section(name: string): readonly Block[] {
  return README.filter((block) => block.section === name);
}

/** The one line of a section that begins so. */
function lineOf(blocks: readonly Block[], begin: string): string {
  const lines = commandsIn(blocks).filter((line) => line.startsWith(begin));
  expect(lines).toHaveLength(1);
  return lines[0] ?? "";
}

function codeOf(blocks: readonly Block[]): string {
  return blocks.find(({ language }) => language === "ts")?.code ?? "";
}

/** Where `npx countersign` finds the packed command. */
function forCommand(): { readonly folder: string; readonly environment: NodeJS.ProcessEnv } {
  const environment = cleanEnvironment(inject("work"), { COUNTERSIGN_SECRET: "dev" });
  return { folder: inject("command"), environment };
}

/** Does what the section "Receive" says, on another port. */
async function startReceiver(project: Project, port: number): Promise<Running> {
  const blocks = section("Receive");
  await project.run(lineOf(blocks, "npm install"));
  await project.write("receiver.mjs", codeOf(blocks).replace("3000", String(port)));
  const running = await project.start(lineOf(blocks, "WEBHOOK_SECRET="), port);
  onTestFinished(() => running.stop());
  return running;
}

/** Runs the command `serve` of a page, on another port. */
async function serve(line: string, port: number): Promise<Running> {
  const running = await startServer(`${line} --port ${port}`, port, forCommand());
  onTestFinished(() => running.stop());
  return running;
}

async function until(what: () => string, pattern: RegExp | string): Promise<void> {
  await expect.poll(what, { timeout: 60_000 }).toMatch(pattern);
}

describe.each(MANAGERS)("README.md, in an empty folder with %s", (manager) => {
  it("ends with a certified receiver, to which serve sends what it is told to try", async () => {
    const [port, servedPort] = [await freePort(), await freePort()];
    const withPorts = (text: string): string =>
      text.replaceAll("3000", String(port)).replaceAll("4010", String(servedPort));
    const receiver = await startReceiver(await createProject(manager), port);
    const commands = section("Test");
    const server = await serve(withPorts(lineOf(commands, "npx countersign serve")), servedPort);
    await until(server.printed, "Try it");
    // The command's README shows what it prints.
    const shown = OF_THE_COMMAND.find(({ language }) => language === "text")?.code ?? "";
    expect(server.printed()).toContain(withPorts(shown).trim());
    const [, tried = ""] = /^Try it +(curl .*)$/m.exec(server.printed()) ?? [];
    expect(await runToStatus(tried, forCommand())).toMatchObject({ status: 0 });
    await until(receiver.printed, "Hello");
    await expectCertified(withPorts(lineOf(commands, "npx countersign certify")), receiver);
  });

  it("has a test that passes, beside the app that it shows", async () => {
    const project = await createProject(manager);
    const app = codeOf(section("Receive"));
    await project.run(lineOf(section("Receive"), "npm install"));
    await project.run(lineOf(section("Test"), "npm install"));
    await project.write(
      "app.js",
      app.replace("const app", "export const app").replace(/^app\.listen.*$/m, ""),
    );
    await project.write("webhooks.test.js", codeOf(section("Test")));
    expect(await project.run("WEBHOOK_SECRET=dev npx vitest run")).toMatch(/Tests +1 passed \(1\)/);
  });
});

/** What stands for the names in capitals, and for the files. */
const BODY = '{"type":"track","userId":"u1","event":"Hello"}';

describe("packages/cli/README.md", () => {
  it("lists commands that work as they are written, with a receiver, its secret and its files", async () => {
    const [port, servedPort] = [await freePort(), await freePort()];
    await startReceiver(await createProject("npm"), port);
    const url = `http://localhost:${port}/webhooks`;
    const options = forCommand();
    const call = { type: "track", userId: "u1", event: "Hello", timestamp: "2026-01-31T08:30:00Z" };
    const recorded = {
      headers: { "Content-Type": "application/json", "X-Signature": sign(BODY, "dev") },
      body: BODY,
    };
    await writeFile(join(options.folder, "body.json"), BODY);
    await writeFile(join(options.folder, "calls.jsonl"), `${JSON.stringify(call)}\n`);
    await writeFile(join(options.folder, "traffic.jsonl"), `${JSON.stringify(recorded)}\n`);
    await serve(`npx countersign serve --to ${url}`, servedPort);
    const text = await readFile(new URL("../../packages/cli/README.md", import.meta.url), "utf8");
    const commands = [...text.matchAll(/^\| `(countersign [^`]+)` /gm)].map(([, command = ""]) => command);
    expect(commands.length).toBeGreaterThan(8);
    for (const command of commands) {
      // serve runs already, listen needs somebody who sends, and work and move a database: docs/cli.md has them.
      if (/^countersign (?:serve|listen|work|move)\b/.test(command)) continue;
      const server = `http://127.0.0.1:${servedPort}`;
      const line = command
        .replace("--server URL", `--server ${server}`)
        .replace(/\bURL\b/, url)
        .replace("--signature X", `--signature ${sign(BODY, "dev")}`)
        .replace("--secret S", "--secret dev")
        .replace("CODE", "ECONNREFUSED");
      const { status, printed } = await runToStatus(`npx ${line}`, options);
      expect({ line, status, printed }).toEqual({ line, status: 0, printed });
    }
  });
});
