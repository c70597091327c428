// Publishes every public package with provenance: a signed statement of the repository, commit and workflow that built it.
// Run by the release workflow.
//   node release.mjs             publishes what is built here, under the tag of this commit
//   node release.mjs --dry-run   rehearses a release in a copy of the last commit, and publishes nothing
import { spawn, spawnSync } from "node:child_process";
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { spawnArguments } from "./command-files.mjs";
import { publicPackages } from "./public-packages.mjs";

const root = fileURLToPath(new URL("..", import.meta.url));
const PUBLISH = ["publish", "--recursive", "--access", "public", "--no-git-checks"];

/** Stands for the address of the repository in a rehearsal, until package.json has one. */
const EXAMPLE_ADDRESS = "https://git.example/OWNER/REPOSITORY";

/** A step of the release that did not succeed. The message says what to do. */
class ReleaseError extends Error {}

try {
  if (process.argv.includes("--dry-run")) await rehearse();
  else await publish();
} catch (error) {
  if (!(error instanceof ReleaseError)) throw error;
  console.error(error.message);
  process.exitCode = 1;
}

async function publish() {
  const { GITHUB_SERVER_URL, GITHUB_REPOSITORY, GITHUB_REF_NAME = "" } = process.env;
  if (!GITHUB_SERVER_URL || !GITHUB_REPOSITORY) {
    console.error(
      "Releases are published by the release workflow: GITHUB_SERVER_URL and GITHUB_REPOSITORY are not set. --dry-run rehearses one.",
    );
    process.exit(2);
  }
  for (const { manifest } of publicPackages(root)) {
    if (GITHUB_REF_NAME === `v${manifest.version}`) continue;
    throw new ReleaseError(
      `${manifest.name} has version ${manifest.version}, but the tag is ${GITHUB_REF_NAME}. Run pnpm set-versions, commit, and tag that commit.`,
    );
  }
  nameTheRepository(root, homepage() || `${GITHUB_SERVER_URL}/${GITHUB_REPOSITORY}`);
  await publishAll(root, ["--provenance"]);
}

/** Does everything that a release does, in a copy of the last commit, up to the upload. Ends with a table of the steps. */
async function rehearse() {
  const before = stateOfWorkTree();
  const copy = mkdtempSync(join(tmpdir(), "countersign-release-"));
  const rows = [];
  const step = async (name, action) => {
    console.log(`\n== ${name}`);
    const startedAt = Date.now();
    try {
      rows.push([name, await action(), seconds(startedAt)]);
    } catch (error) {
      rows.push([name, "FAILED", seconds(startedAt)]);
      throw error;
    }
  };
  try {
    await step("copy of the last commit, installed", () => install(copy));
    await step("versions in step, changelogs", () => setVersions(copy));
    await step("repository, homepage, bugs", () => {
      nameTheRepository(copy, homepage() || EXAMPLE_ADDRESS);
      return homepage() || `${EXAMPLE_ADDRESS}: "homepage" in package.json is empty`;
    });
    await step("build", () => build(copy));
    await step("tarballs, empty projects on each Node", () => checkPackages(copy));
    await step("upload", () => packUp(copy));
    rows.push(["provenance", "not rehearsed: the registry checks it, and only the workflow can sign it", ""]);
    await step("this folder", () => {
      const after = stateOfWorkTree();
      if (before !== "") return "had changes before; what is not committed was not rehearsed";
      if (after === "") return "clean, as before";
      throw new ReleaseError(`These files changed during the rehearsal:\n${after}`);
    });
  } finally {
    rmSync(copy, { recursive: true, force: true });
    printTable(rows);
  }
  console.log("\nRehearsed; nothing was published.");
}

async function install(copy) {
  await run(root, "git", ["clone", "--quiet", "--no-hardlinks", root, copy]);
  await run(copy, "pnpm", ["install", "--frozen-lockfile", "--prefer-offline"]);
  return spawnSync("git", ["rev-parse", "--short", "HEAD"], { cwd: copy, encoding: "utf8" }).stdout.trim();
}

/** Writes the versions and the changelogs. */
async function setVersions(copy) {
  await run(copy, "pnpm", ["run", "set-versions"]);
  const packages = publicPackages(copy);
  const versions = [...new Set(packages.map(({ manifest }) => manifest.version))];
  if (versions.length !== 1)
    throw new ReleaseError(`The packages have several versions: ${versions.join(", ")}.`);
  const [version] = versions;
  for (const { folder, manifest } of packages) {
    const file = join(folder, "CHANGELOG.md");
    if (existsSync(file) && readFileSync(file, "utf8").includes(`## ${version}\n`)) continue;
    throw new ReleaseError(
      `${manifest.name} has no entry for ${version} in its changelog. Describe the change with pnpm changeset.`,
    );
  }
  return `${version}, ${packages.length} packages`;
}

async function build(copy) {
  await run(copy, "pnpm", ["run", "build"]);
  return "types, code and page";
}

async function checkPackages(copy) {
  const output = await run(copy, "pnpm", ["run", "check:packages"]);
  return output.trimEnd().split("\n").at(-1);
}

async function packUp(copy) {
  const output = await publishAll(copy, ["--dry-run"]);
  const names = publicPackages(copy).map(({ manifest }) => `${manifest.name}@${manifest.version}`);
  const missing = names.filter((name) => !output.includes(name));
  if (missing.length > 0) throw new ReleaseError(`These would not be published: ${missing.join(", ")}.`);
  return `${names.length} packages would be published`;
}

/** Address of the repository, from the one place where it is written; empty until there is a public one. */
function homepage() {
  return JSON.parse(readFileSync(join(root, "package.json"), "utf8")).homepage;
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

/** Publishes what scripts/publishable.mjs writes of each package. What the registry has is left out. */
async function publishAll(folder, options) {
  const workspace = mkdtempSync(join(tmpdir(), "countersign-publishable-"));
  try {
    await run(folder, "pnpm", ["run", "publishable", workspace]);
    writeFileSync(join(workspace, "pnpm-workspace.yaml"), 'packages: ["*"]\n');
    return await run(workspace, "pnpm", [...PUBLISH, ...options]);
  } finally {
    rmSync(workspace, { recursive: true, force: true });
  }
}

function stateOfWorkTree() {
  return spawnSync("git", ["status", "--porcelain"], { cwd: root, encoding: "utf8" }).stdout;
}

/**
 * Runs a command and shows what it prints.
 *
 * @returns What it printed.
 */
function run(cwd, command, args) {
  return new Promise((resolve, reject) => {
    const [program, given, options] = spawnArguments(command, args);
    const child = spawn(program, given, { ...options, cwd, stdio: ["ignore", "pipe", "pipe"] });
    let output = "";
    const take = (to) => (data) => {
      output += data;
      to.write(data);
    };
    child.stdout.on("data", take(process.stdout));
    child.stderr.on("data", take(process.stderr));
    child.once("error", reject);
    child.once("close", (code) => {
      if (code === 0) resolve(output);
      else reject(new ReleaseError(`${command} ${args.join(" ")} failed.`));
    });
  });
}

function seconds(startedAt) {
  return `${Math.round((Date.now() - startedAt) / 1_000)} s`;
}

function printTable(rows) {
  const widths = [0, 1, 2].map((index) => Math.max(...rows.map((row) => row[index].length)));
  console.log("");
  for (const row of rows)
    console.log(
      row
        .map((text, index) => text.padEnd(widths[index]))
        .join("   ")
        .trimEnd(),
    );
}
