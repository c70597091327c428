// Checks what would be published: writes and packs every public package, has publint and attw judge each tarball, then installs all of
// them into an empty project for each Node of NODE_VERSIONS. Beside what is installed there stand ES modules and CommonJS, each in a
// folder that says so. In both it loads every entry point, sends a message and a forgery through them, and has an event go from the
// client through the command to a receiver.
// Prints a line for each check and ends with "N passed, N failed".
import { execFile } from "node:child_process";
import { mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { basename, delimiter, dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { spawnArguments } from "./command-files.mjs";
import { publicPackages } from "./public-packages.mjs";
import { packPublishable } from "./publishable.mjs";
import { withRegistry } from "./registry-trouble.mjs";

const execute = promisify(execFile);
const root = fileURLToPath(new URL("..", import.meta.url));
// By their files: pnpm takes as long to start them as they take.
const PUBLINT = join(root, "node_modules/publint/src/cli.js");
const ATTW = join(root, "node_modules/@arethetypeswrong/cli/dist/index.js");
/** The lowest of both ranges in "engines", and the newest of each major version. */
const NODE_VERSIONS = ["20.19.0", "20", "22.12.0", "22", "24", "26"];

/**
 * What a user does first: a receiver, a message that it accepts, and a forgery that it rejects. Then a forgery whose key JSON.parse of
 * Node 24 and later finds in the next message.
 */
const ROUND_TRIP = `
const app = express();
let message;
app.post("/", verifyWebhook({ secret: "dev" }), (request, response) => {
  message = request.body;
  response.sendStatus(204);
});
async function main() {
  const sender = await createTestSender({ target: app, secret: "dev" });
  await sender.expect(await sender.track({ userId: "u1", event: "Released" })).delivered();
  sender.inject("bad_signature");
  await sender.expect(await sender.track({ userId: "u1", event: "Forged" })).failed();
  await sender.close();
  const listening = app.listen(0, "127.0.0.1");
  await new Promise((resolve) => listening.once("listening", resolve));
  const url = "http://127.0.0.1:" + listening.address().port;
  const withKey = (key) => '{"type":"track","userId":"u1","event":"Read","properties":{"total":1,"' + key + '":2}}';
  const backslash = String.fromCharCode(92);
  const body = withKey("caf" + backslash + "u00e9");
  // The space has it parsed: what is compact need not be.
  const forgery = " " + withKey("caf" + backslash + backslash);
  for (const [text, signature] of [[forgery, "0".repeat(40)], [body, sign(body, "dev")]])
    await fetch(url, { method: "POST", headers: { "content-type": "application/json", "x-signature": signature }, body: text });
  await new Promise((resolve) => listening.close(resolve));
  const keys = Object.keys(message.properties).join();
  if (keys !== "total,caf" + String.fromCharCode(233)) throw new Error("The keys were read as " + keys);
}
main().catch((error) => {
  console.error(error);
  process.exitCode = 1;
});
`;

/** The whole way of an event: recorded by the client, taken and forwarded by `countersign serve`, verified by a receiver. */
const WHOLE_WAY = `
const app = express();
const received = [];
async function main() {
  const receiver = app.listen(0, "127.0.0.1");
  await once(receiver, "listening");
  const to = "http://127.0.0.1:" + receiver.address().port;
  const options = ["--to", to, "--secret", "dev", "--port", "0", "--data", "data", "--json"];
  const command = spawn(process.execPath, ["../node_modules/countersign/dist/bin.js", "serve", ...options]);
  command.stderr.pipe(process.stderr);
  // Nothing here takes as long, and nothing outlives this.
  setTimeout(() => fail(new Error("No event arrived within a minute.")), 60_000).unref();
  process.once("exit", () => command.kill("SIGKILL"));
  const ended = once(command, "exit");
  app.post("/", verifyWebhook({ secret: "dev" }), (request, response) => {
    received.push(request.body.event);
    response.sendStatus(204);
    command.kill();
  });
  for await (const line of createInterface({ input: command.stdout })) {
    const { event, url } = JSON.parse(line);
    if (event !== "listening") continue;
    const { status, detail } = await new Analytics("WK", { endpoint: url }).track({ userId: "u1", event: "Released" });
    if (status !== "delivered") throw new Error(detail);
  }
  const [code] = await ended;
  receiver.close();
  if (code !== 0 || received.join() !== "Released") throw new Error("Exit " + code + ", received: " + received.join());
}
function fail(error) {
  console.error(error);
  process.exit(1);
}
main().catch(fail);
`;

/** The two kinds of modules: how each loads the packages. */
const KINDS = {
  module: {
    type: "module",
    title: "ES modules",
    imports: `import { verifyWebhook } from "@countersign/express";
import { sign } from "@countersign/core";
import { createTestSender } from "@countersign/sender/testing";
import { Analytics } from "@countersign/client";
import express from "express";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { createInterface } from "node:readline";`,
    load: (names) =>
      `for (const name of ${names}) if (Object.keys(await import(name)).length === 0) throw new Error(name + " exports nothing");`,
  },
  commonjs: {
    type: "commonjs",
    title: "CommonJS",
    imports: `const { verifyWebhook } = require("@countersign/express");
const { sign } = require("@countersign/core");
const { createTestSender } = require("@countersign/sender/testing");
const { Analytics } = require("@countersign/client");
const express = require("express");
const { spawn } = require("node:child_process");
const { once } = require("node:events");
const { createInterface } = require("node:readline");`,
    load: (names) =>
      `for (const name of ${names}) if (Object.keys(require(name)).length === 0) throw new Error(name + " exports nothing");`,
  },
};

let passed = 0;
let failed = 0;

function run(command, args, options) {
  const [program, given, ofSystem] = spawnArguments(command, args);
  return execute(program, given, { ...options, ...ofSystem });
}

/** Runs what needs the registry, and runs it again where that did not answer. */
async function runWithRegistry(...command) {
  const { ended, error } = await withRegistry(
    () =>
      run(...command).then(
        (ended) => ({ ended }),
        (error) => ({ error }),
      ),
    ({ error }) => String(error?.stderr ?? error ?? ""),
  );
  if (error) throw error;
  return ended;
}

/** Where a version of Node is. `npx` takes as long as what it starts, so it runs once for each. */
async function nodeOf(version) {
  const options = ["-y", "-p", `node@${version}`, "-c", "node -p process.execPath"];
  const { stdout } = await runWithRegistry("npx", options, { cwd: tmpdir() });
  const node = stdout.trim();
  const used = (await run(node, ["--version"])).stdout.trim();
  if (!`${used}.`.startsWith(`v${version}.`)) throw new Error(`it ran on ${used}`);
  return { node, used };
}

/** Installs what a project names, with the npm of this machine on another Node. */
async function install(node, project) {
  const options = ["--no-audit", "--no-fund", "--ignore-scripts", "--prefer-offline"];
  const env = { ...process.env, PATH: [dirname(node), process.env.PATH].join(delimiter) };
  await runWithRegistry("npm", ["install", ...options], { cwd: project, env });
}

async function check(name, action) {
  try {
    const detail = await action();
    passed += 1;
    console.log(`ok      ${name}${detail ? ` (${detail})` : ""}`);
  } catch (error) {
    failed += 1;
    console.log(`FAILED  ${name}\n${error.stdout ?? ""}${error.stderr ?? error.message ?? error}`);
  }
}

/** Everything a user may import from a package, data files left out. */
function entryPoints({ name, exports }) {
  return Object.keys(exports)
    .filter((path) => !path.endsWith(".json"))
    .map((path) => name + path.slice(1));
}

const work = await mkdtemp(join(tmpdir(), "countersign-packages-"));
try {
  const packages = publicPackages();
  const publishable = join(work, "publishable");
  await mkdir(publishable);
  const tarballs = await packPublishable(publishable);
  for (const { manifest } of packages) {
    const tarball = tarballs.get(manifest.name);
    await check(`${manifest.name}: publint`, async () => {
      await run(process.execPath, [PUBLINT, tarball, "--strict"], { cwd: root });
    });
    await check(`${manifest.name}: types resolve for every importer`, async () => {
      const entries = Object.keys(manifest.exports).filter((path) => !path.endsWith(".json"));
      const options = ["--profile", "esm-only", "--entrypoints", ...entries];
      await run(process.execPath, [ATTW, tarball, ...options], { cwd: root });
    });
    await check(
      `${manifest.name}: contains a licence, a README and the build, and nothing else`,
      async () => {
        // By its name alone: some programs called tar take what is before a colon for a host.
        const { stdout } = await run("tar", ["-tzf", basename(tarball)], { cwd: dirname(tarball) });
        const contained = stdout.split(/\r?\n/);
        for (const file of [
          "package/LICENSE",
          "package/README.md",
          "package/dist/index.js",
          "package/dist/index.d.ts",
        ]) {
          if (!contained.includes(file)) throw new Error(`${file} is not in the tarball`);
        }
        if (/tsbuildinfo|\/test\/|\/bench\//.test(stdout))
          throw new Error("build state or tests are in the tarball");
      },
    );
  }

  const files = Object.fromEntries([...tarballs].map(([name, path]) => [name, `file:${path}`]));
  // The optional ones too: some entry points need them.
  const peers = Object.fromEntries(
    packages.flatMap(({ manifest }) => Object.entries(manifest.peerDependencies ?? {})),
  );
  const dependencies = { ...peers, ...files };
  const names = packages.flatMap(({ manifest }) => entryPoints(manifest));
  for (const version of NODE_VERSIONS) {
    const project = join(work, `node-${version}`);
    await mkdir(project);
    await writeFile(
      join(project, "package.json"),
      JSON.stringify({ private: true, dependencies, overrides: files }),
    );
    let node;
    await check(`every tarball installs in an empty project on Node ${version}`, async () => {
      const found = await nodeOf(version);
      node = found.node;
      await install(node, project);
      return found.used;
    });
    if (node === undefined) continue;
    for (const kind of Object.values(KINDS)) {
      const folder = join(project, kind.type);
      await mkdir(folder);
      await writeFile(join(folder, "package.json"), JSON.stringify({ type: kind.type }));
      await writeFile(join(folder, "load.js"), kind.load(JSON.stringify(names)));
      await writeFile(join(folder, "round-trip.js"), `${kind.imports}\n${ROUND_TRIP}`);
      await writeFile(join(folder, "whole-way.js"), `${kind.imports}\n${WHOLE_WAY}`);
      const where = `in ${kind.title} on Node ${version}`;
      const runs = (file) => async () => void (await run(node, [file], { cwd: folder }));
      await check(`every entry point loads ${where}`, runs("load.js"));
      await check(`a message makes the round trip ${where}`, runs("round-trip.js"));
      await check(
        `an event goes from the client through the command to a receiver ${where}`,
        runs("whole-way.js"),
      );
    }
  }
} finally {
  await rm(work, { recursive: true });
}

console.log(`\n${passed} passed, ${failed} failed`);
process.exitCode = failed === 0 ? 0 : 1;
