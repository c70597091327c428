// Publishes every public package with provenance: a signed statement of the repository, commit and workflow that built it.
// Run by the release workflow.
//   node release.mjs             publishes what is built here, under the tag of this commit
//   node release.mjs --dry-run   rehearses a release in a copy, and publishes nothing
import { spawnSync } from "node:child_process";
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";

const root = fileURLToPath(new URL("..", import.meta.url));
const PUBLISH = [
  "--filter",
  "./packages/*",
  "publish",
  "--recursive",
  "--access",
  "public",
  "--no-git-checks",
];

if (process.argv.includes("--dry-run")) rehearse();
else publish();

function publish() {
  const { GITHUB_SERVER_URL, GITHUB_REPOSITORY, GITHUB_REF_NAME = "" } = process.env;
  if (!GITHUB_SERVER_URL || !GITHUB_REPOSITORY) {
    console.error(
      "Releases are published by the release workflow: GITHUB_SERVER_URL and GITHUB_REPOSITORY are not set. --dry-run rehearses one.",
    );
    process.exit(2);
  }
  for (const { manifest } of publicPackages(root)) {
    if (GITHUB_REF_NAME === `v${manifest.version}`) continue;
    console.error(`${manifest.name} has version ${manifest.version}, but the tag is ${GITHUB_REF_NAME}.`);
    process.exit(1);
  }
  nameTheRepository(root, `${GITHUB_SERVER_URL}/${GITHUB_REPOSITORY}`);
  run(root, "pnpm", [...PUBLISH, "--provenance"]);
}

/** Does everything that a release does, in a copy of the last commit, up to the upload. */
function rehearse() {
  const copy = mkdtempSync(join(tmpdir(), "countersign-release-"));
  try {
    run(root, "git", ["clone", "--quiet", "--no-hardlinks", root, copy]);
    run(copy, "pnpm", ["install", "--frozen-lockfile", "--prefer-offline"]);
    run(copy, "pnpm", ["exec", "changeset", "version"]);
    const versions = new Set(publicPackages(copy).map(({ manifest }) => manifest.version));
    if (versions.size !== 1) fail(`The packages have several versions: ${[...versions].join(", ")}.`);
    for (const { folder, manifest } of publicPackages(copy)) {
      if (!existsSync(join(folder, "CHANGELOG.md")))
        fail(`${manifest.name} has no changelog. Describe the change with pnpm changeset.`);
    }
    console.log(`Version ${[...versions].join()} in step, each package with its changelog`);
    const { homepage } = JSON.parse(readFileSync(join(root, "package.json"), "utf8"));
    if (homepage) nameTheRepository(copy, homepage);
    else
      console.log(
        '"homepage" in package.json is empty: the release workflow fills in the address of its repository',
      );
    run(copy, "pnpm", ["run", "build"]);
    run(copy, "pnpm", ["run", "check:packages"]);
    run(copy, "pnpm", [...PUBLISH, "--dry-run"]);
    console.log("Rehearsed; nothing was published.");
  } finally {
    rmSync(copy, { recursive: true, force: true });
  }
}

/** Writes where each package comes from into its manifest. The registry refuses a provenance of another repository. */
function nameTheRepository(folder, address) {
  for (const { name, folder: path, manifest } of publicPackages(folder)) {
    const fields = {
      homepage: `${address}/tree/main/packages/${name}`,
      bugs: `${address}/issues`,
      repository: { type: "git", url: `git+${address}.git`, directory: `packages/${name}` },
    };
    writeFileSync(
      join(path, "package.json"),
      `${JSON.stringify({ ...manifest, ...fields }, undefined, 2)}\n`,
    );
  }
}

function publicPackages(folder) {
  return readdirSync(join(folder, "packages"))
    .map((name) => {
      const path = join(folder, "packages", name);
      return { name, folder: path, manifest: JSON.parse(readFileSync(join(path, "package.json"), "utf8")) };
    })
    .filter(({ manifest }) => !manifest.private);
}

function run(cwd, command, args) {
  const { status } = spawnSync(command, args, { cwd, stdio: "inherit", shell: process.platform === "win32" });
  if (status !== 0) fail(`${command} ${args.join(" ")} failed.`, status ?? 1);
}

function fail(message, status = 1) {
  console.error(message);
  process.exitCode = status;
  throw new Error(message);
}
