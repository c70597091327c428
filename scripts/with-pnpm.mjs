// Runs a root script through the pinned pnpm, on a machine that has only Node and npm:
//   node scripts/with-pnpm.mjs <script> [arguments...]
import { spawnSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { spawnArguments } from "./command-files.mjs";

const root = fileURLToPath(new URL("..", import.meta.url));
const { packageManager } = JSON.parse(readFileSync(`${root}package.json`, "utf8"));
const [script, ...rest] = process.argv.slice(2);
if (script === undefined) {
  console.error("Usage: node scripts/with-pnpm.mjs <script> [arguments...]");
  process.exit(2);
}

const RUNS_VITEST = new Set(["verify", "run:hosts", "run:long", "run:postgres", "run:timezones"]);
if (RUNS_VITEST.has(script) && /[#%?]/.test(root)) {
  console.error(
    `The path of this folder contains "#", "%" or "?": ${root}\nVite takes them for parts of a URL, and does not find the tests or what they import. Move the folder to a path without them, and repeat the command.`,
  );
  process.exit(2);
}

// Below `npx -c`, npm passes on what that was told, and the next npx would take it for its own.
const { npm_config_call: _call, npm_config_package: _package, ...env } = process.env;

function pnpm(...args) {
  const [command, given, options] = spawnArguments("npx", ["-y", packageManager, ...args]);
  const { status, error } = spawnSync(command, given, { ...options, cwd: root, env, stdio: "inherit" });
  if (error) throw error;
  if (status !== 0) process.exit(status ?? 1);
}

pnpm("install", "--frozen-lockfile", "--reporter=append-only", "--loglevel=warn");
pnpm("run", script, ...rest);
