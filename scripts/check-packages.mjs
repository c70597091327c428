// Checks what would be published: packs every public package, has publint and attw judge each tarball, installs all of
// them as a user would, loads every entry point with import and with require(), and sends a message through them, on Node
// 20, 22 and 24.
// Prints a line for each check and ends with "N passed, N failed".
import { execFile } from "node:child_process";
import { mkdir, mkdtemp, readdir, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";

const run = promisify(execFile);
const root = fileURLToPath(new URL("..", import.meta.url));
const NODE_VERSIONS = ["20", "22", "24"];

/** What a user does first: a receiver, a message that it accepts, and a forgery that it rejects. */
const ROUND_TRIP = `
const app = express();
app.post("/", verifyWebhook({ secret: "dev" }), (request, response) => response.sendStatus(204));
async function main() {
  const sender = await createTestSender({ target: app, secret: "dev" });
  await sender.expect(await sender.track({ userId: "u1", event: "Released" })).delivered();
  sender.inject("bad_signature");
  await sender.expect(await sender.track({ userId: "u1", event: "Forged" })).failed();
  await sender.close();
}
main().catch((error) => {
  console.error(error);
  process.exitCode = 1;
});
`;

let passed = 0;
let failed = 0;

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

async function publicPackages() {
  const directories = await readdir(join(root, "packages"));
  const all = await Promise.all(
    directories.map(async (directory) => ({
      directory: join(root, "packages", directory),
      manifest: JSON.parse(await readFile(join(root, "packages", directory, "package.json"), "utf8")),
    })),
  );
  return all.filter(({ manifest }) => !manifest.private);
}

/** Everything a user may import from a package, data files left out. */
function entryPoints({ name, exports }) {
  return Object.keys(exports)
    .filter((path) => !path.endsWith(".json"))
    .map((path) => name + path.slice(1));
}

const work = await mkdtemp(join(tmpdir(), "countersign-packages-"));
try {
  const packages = await publicPackages();
  const tarballs = {};
  for (const { directory, manifest } of packages) {
    const destination = join(work, manifest.name.replace("/", "-"));
    await mkdir(destination);
    await run("pnpm", ["pack", "--pack-destination", destination], { cwd: directory });
    const tarball = join(destination, (await readdir(destination))[0]);
    tarballs[manifest.name] = tarball;
    await check(`${manifest.name}: publint`, async () => {
      await run("pnpm", ["exec", "publint", tarball, "--strict"], { cwd: root });
    });
    await check(`${manifest.name}: types resolve for every importer`, async () => {
      const entries = Object.keys(manifest.exports).filter((path) => !path.endsWith(".json"));
      await run("pnpm", ["exec", "attw", tarball, "--profile", "esm-only", "--entrypoints", ...entries], {
        cwd: root,
      });
    });
    await check(`${manifest.name}: holds a licence, a README and the build, and nothing else`, async () => {
      const { stdout } = await run("tar", ["-tzf", tarball]);
      for (const file of [
        "package/LICENSE",
        "package/README.md",
        "package/dist/index.js",
        "package/dist/index.d.ts",
      ]) {
        if (!stdout.split("\n").includes(file)) throw new Error(`${file} is not in the tarball`);
      }
      if (/tsbuildinfo|\/test\/|\/bench\//.test(stdout))
        throw new Error("build state or tests are in the tarball");
    });
  }

  const consumer = join(work, "consumer");
  await mkdir(consumer);
  const files = Object.fromEntries(Object.entries(tarballs).map(([name, path]) => [name, `file:${path}`]));
  // The optional ones too: some entry points need them.
  const peers = Object.fromEntries(
    packages.flatMap(({ manifest }) => Object.entries(manifest.peerDependencies ?? {})),
  );
  await writeFile(
    join(consumer, "package.json"),
    JSON.stringify({ private: true, dependencies: { ...peers, ...files }, overrides: files }),
  );
  await check("every tarball installs with npm", async () => {
    await run("npm", ["install", "--no-audit", "--no-fund", "--ignore-scripts"], { cwd: consumer });
  });

  const names = JSON.stringify(packages.flatMap(({ manifest }) => entryPoints(manifest)));
  await writeFile(
    join(consumer, "imports.mjs"),
    `for (const name of ${names}) if (Object.keys(await import(name)).length === 0) throw new Error(name + " exports nothing");`,
  );
  await writeFile(
    join(consumer, "requires.cjs"),
    `for (const name of ${names}) if (Object.keys(require(name)).length === 0) throw new Error(name + " exports nothing");`,
  );
  await writeFile(
    join(consumer, "round-trip.mjs"),
    `import { verifyWebhook } from "@countersign/express";
import { createTestSender } from "@countersign/sender/testing";
import express from "express";
${ROUND_TRIP}`,
  );
  await writeFile(
    join(consumer, "round-trip.cjs"),
    `const { verifyWebhook } = require("@countersign/express");
const { createTestSender } = require("@countersign/sender/testing");
const express = require("express");
${ROUND_TRIP}`,
  );
  for (const version of NODE_VERSIONS) {
    for (const [script, title] of [
      ["imports.mjs", "every entry point loads by import"],
      ["requires.cjs", "every entry point loads by require"],
      ["round-trip.mjs", "a message makes the round trip in an ES module"],
      ["round-trip.cjs", "a message makes the round trip in CommonJS"],
    ]) {
      await check(`${title} on Node ${version}`, async () => {
        const command = `node -p process.version && node ${script}`;
        const { stdout } = await run("npx", ["-y", "-p", `node@${version}`, "-c", command], {
          cwd: consumer,
        });
        if (!stdout.startsWith(`v${version}.`)) throw new Error(`it ran on ${stdout}`);
        return stdout.trim();
      });
    }
  }
} finally {
  await rm(work, { recursive: true });
}

console.log(`\n${passed} passed, ${failed} failed`);
process.exitCode = failed === 0 ? 0 : 1;
