import { describe, expect, it, onTestFinished } from "vitest";
import { expectCertified } from "./support/certify-host.ts";
import { commandsIn, readPage } from "./support/page.ts";
import { programFolder } from "./support/program.ts";
import {
  DEFAULT_MANAGERS,
  createProject,
  follow,
  NODE_TYPES,
  type Manager,
  type Project,
} from "./support/project.ts";
import { freePort } from "../support/free-port.ts";

const START = "docs/start/index.md";
const PAGE = "docs/guides/testing.md";
const TEST = "test/webhooks.test.ts";

interface Runner {
  /** The section of the page. */
  readonly section: string;
  /** What the section says to import from, in place of vitest. */
  readonly from?: string;
  /** Whether the app is in CommonJS. */
  readonly isCommonJs?: boolean;
  /** Tests that pass. */
  readonly passed: RegExp;
}

const RUNNERS: readonly Runner[] = [
  { section: "In Vitest", passed: /Tests +3 passed \(3\)/ },
  { section: "In Jest, with ES modules", from: "@jest/globals", passed: /Tests: +3 passed, 3 total/ },
  {
    section: "In Jest, with CommonJS",
    from: "@jest/globals",
    isCommonJs: true,
    passed: /Tests: +3 passed, 3 total/,
  },
  { section: "In node:test", from: "node:test", passed: /^[#ℹ] pass 3$/m },
  { section: "In Mocha", from: "mocha", passed: /^ *3 passing /m },
  { section: "A forged request, without a sender", passed: /Tests +2 passed \(2\)/ },
];

/** The app of the start page, and the test of the runner's section. */
async function prepare(manager: Manager, { section, from, isCommonJs }: Runner): Promise<Project> {
  const project = await createProject(manager, NODE_TYPES);
  if (isCommonJs === true) await project.run("npm pkg delete type");
  await follow(
    project,
    readPage(START, "express").filter((block) => block.section === "1. Verify"),
  );
  const blocks = readPage(PAGE);
  await follow(
    project,
    blocks.filter((block) => block.section === section),
  );
  if (from !== undefined) {
    const test = blocks.find(({ file }) => file === TEST);
    await project.write(TEST, (test?.code ?? "").replace('from "vitest"', `from "${from}"`));
  }
  return project;
}

/** The command that the section ends with. */
function commandOf({ section }: Runner): string {
  return commandsIn(readPage(PAGE).filter((block) => block.section === section)).at(-1) ?? "";
}

describe.each(RUNNERS)("$section", (runner) => {
  it.each(DEFAULT_MANAGERS)(
    `passes as ${PAGE} shows it, installed with %s, and the receiver is certified`,
    async (manager) => {
      const project = await prepare(manager, runner);
      if (runner.from === "node:test") await project.compile();
      expect(await project.run(commandOf(runner))).toMatch(runner.passed);
      await project.compile();
      const port = await freePort();
      const withPort = (text: string): string => text.replaceAll("3000", String(port));
      await project.write("src/server.js", withPort(await project.read("src/server.js")));
      const running = await project.start("node src/server.js", port);
      const command = commandsIn(readPage(START)).at(-1) ?? "";
      onTestFinished(() => running.stop());
      await expectCertified(withPort(command), running);
    },
  );
});

describe("In node:test, with a test that fails", () => {
  it("ends within 5 s of what a run takes that passes, with the reason", async () => {
    const runner = RUNNERS.find(({ from }) => from === "node:test");
    if (runner === undefined) throw new Error("There is no section about node:test.");
    const project = await prepare("pnpm", runner);
    await project.compile();
    const time = async (): Promise<readonly [ms: number, status: number | null, printed: string]> => {
      const begun = performance.now();
      const { status, printed } = await project.runToStatus(commandOf(runner));
      return [performance.now() - begun, status, printed];
    };
    const [passing, passed] = await time();
    const file = TEST.replace(/ts$/, "js");
    const text = await project.read(file);
    // Expects what does not happen, and closes the sender only where the test does not get to.
    await project.write(
      file,
      text
        .replace("expect(forged).failed();", "expect(forged).delivered();\n  await sender.close();")
        .replace(/^afterEach.*$/m, ""),
    );
    let [failing, failed, printed] = await time();
    // What else runs on the machine may hold one of them up, but not three.
    for (let again = 0; again < 2 && failing - passing >= 5_000; again += 1)
      [failing, failed, printed] = await time();
    expect({ passed, failed }).toEqual({ passed: 0, failed: 1 });
    expect(printed).toContain("to be delivered");
    expect(failing - passing).toBeLessThan(5_000);
  });
});

/** What `nest new` of Nest 11 writes into `tsconfig.json`. */
const NEST_11 = {
  module: "nodenext",
  moduleResolution: "nodenext",
  resolvePackageJsonExports: true,
  esModuleInterop: true,
  isolatedModules: true,
  emitDecoratorMetadata: true,
  experimentalDecorators: true,
  target: "ES2023",
  baseUrl: "./",
  strictNullChecks: true,
  noImplicitAny: true,
};

describe("Test your controller", () => {
  it("passes in the Jest of Nest 11, with CommonJS, as packages/nestjs/README.md shows it", async () => {
    const project = await createProject("npm");
    await project.run("npm pkg delete type");
    await project.write("tsconfig.json", JSON.stringify({ compilerOptions: NEST_11 }));
    await project.run(
      `npm install ${["common", "core", "platform-express", "testing"].map((name) => `@nestjs/${name}@11`).join(" ")} reflect-metadata rxjs`,
    );
    await project.run("npm install --save-dev jest@30 ts-jest@29 @types/jest@30 typescript@5.9 @types/node");
    await follow(
      project,
      readPage(START, "nestjs").filter(
        ({ section, file }) => section === "1. Verify" && file !== "src/main.ts",
      ),
    );
    await follow(
      project,
      readPage("packages/nestjs/README.md").filter(({ section }) => section === "Test your controller"),
    );
    expect(await project.run("npx jest --config test/jest-e2e.json")).toMatch(/Tests: +2 passed, 2 total/);
    await project.run("npx tsc --noEmit");
  });
});

describe("In Jest, in JavaScript", () => {
  const blocks = readPage(PAGE).filter(({ section }) => section === "In Jest, in JavaScript");
  const [withoutConfig = "", withBabel = ""] = commandsIn(blocks).filter((line) => line.endsWith("npx jest"));

  async function prepareCommonJs(manager: Manager, isOwn: (text: string) => boolean): Promise<Project> {
    const project = await createProject(manager);
    await project.run("npm pkg delete type");
    await project.run("npm install @countersign/express @countersign/core express");
    await project.write("src/app.js", COMMON_JS_APP);
    await follow(
      project,
      blocks.filter(({ code, file }) => isOwn(file ?? code)),
    );
    return project;
  }

  it.each(DEFAULT_MANAGERS)(
    "passes on this Node with the config that has Babel, installed with %s",
    async (manager) => {
      const project = await prepareCommonJs(manager, () => true);
      expect(await project.run(withBabel)).toMatch(/Tests: +2 passed, 2 total/);
    },
  );

  it.each(DEFAULT_MANAGERS)("passes on Node 24 without a config, installed with %s", async (manager) => {
    const project = await prepareCommonJs(manager, (text) => !/babel|jest\.config/.test(text));
    const node = await programFolder("node@24", "node");
    const line = withoutConfig.replace(/^/, `PATH="${node}:$PATH" `);
    expect(await project.run(line)).toMatch(/Tests: +2 passed, 2 total/);
  });
});

const COMMON_JS_APP = `
const { verifyWebhook } = require("@countersign/express");
const express = require("express");

const app = express();
app.use(express.json());
const verify = verifyWebhook({ secret: "the shared secret", onRejected() {} });
app.post("/webhooks", verify, (req, res) => res.sendStatus(204));
module.exports = { app };
`;
