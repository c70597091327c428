// Publishes every public package with provenance: a signed statement of the repository, commit and workflow that built it.
// Run by the release workflow. --dry-run publishes nothing.
import { spawnSync } from "node:child_process";
import { readdirSync, readFileSync, writeFileSync } from "node:fs";
import { fileURLToPath } from "node:url";

const root = fileURLToPath(new URL("..", import.meta.url));
const isDryRun = process.argv.includes("--dry-run");
const { GITHUB_SERVER_URL, GITHUB_REPOSITORY, GITHUB_REF_NAME = "" } = process.env;

if (!GITHUB_SERVER_URL || !GITHUB_REPOSITORY) {
  console.error(
    "Releases are published by the release workflow: GITHUB_SERVER_URL and GITHUB_REPOSITORY are not set.",
  );
  process.exit(2);
}

for (const folder of readdirSync(`${root}packages`)) {
  const file = `${root}packages/${folder}/package.json`;
  const manifest = JSON.parse(readFileSync(file, "utf8"));
  if (manifest.private) continue;
  if (GITHUB_REF_NAME !== `v${manifest.version}`) {
    console.error(`${manifest.name} has version ${manifest.version}, but the tag is ${GITHUB_REF_NAME}.`);
    process.exit(1);
  }
  // The registry refuses a statement about another repository than the one that the package names.
  const url = `git+${GITHUB_SERVER_URL}/${GITHUB_REPOSITORY}.git`;
  const repository = { type: "git", url, directory: `packages/${folder}` };
  writeFileSync(file, `${JSON.stringify({ ...manifest, repository }, undefined, 2)}\n`);
}

const { status } = spawnSync(
  "pnpm",
  [
    "--filter",
    "./packages/*",
    "publish",
    "--recursive",
    "--access",
    "public",
    "--no-git-checks",
    ...(isDryRun ? ["--dry-run"] : ["--provenance"]),
  ],
  { cwd: root, stdio: "inherit", shell: process.platform === "win32" },
);
process.exitCode = status ?? 1;
