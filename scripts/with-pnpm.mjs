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

function pnpm(...args) {
  const [command, given, options] = spawnArguments("npx", ["-y", packageManager, ...args]);
  const { status, error } = spawnSync(command, given, { ...options, cwd: root, stdio: "inherit" });
  if (error) throw error;
  if (status !== 0) process.exit(status ?? 1);
}

pnpm("install", "--frozen-lockfile", "--reporter=append-only", "--loglevel=warn");
pnpm("run", script, ...rest);
