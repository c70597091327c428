// Sets the versions of a release: lets changesets write those of the packages and the changelogs, then writes the version
// wherever else a file has it.
import { spawnSync } from "node:child_process";
import { existsSync, readFileSync, realpathSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { spawnArguments } from "./command-files.mjs";
import { publicPackages } from "./public-packages.mjs";

const root = fileURLToPath(new URL("..", import.meta.url));

/** Files with the version of a package, and what is around it. */
const PLACES = [
  // It is part of the bundle, which cannot read a package.json in a browser.
  ["packages/client/src/version.ts", "@countersign/client", /(VERSION: string = ")[^"]*(")/],
  // It is not part of the workspace, so changesets does not know it.
  ["examples/next/package.json", "@countersign/fetch", /("@countersign\/fetch": "\^)[^"]*(")/],
];

/**
 * Writes the versions of the packages of a copy of the repository into its other files.
 *
 * @param {string} folder
 */
export function writeVersions(folder) {
  const versions = new Map(publicPackages(folder).map(({ manifest }) => [manifest.name, manifest.version]));
  for (const [file, name, pattern] of PLACES) {
    const path = join(folder, file);
    const text = readFileSync(path, "utf8");
    if (!pattern.test(text)) throw new Error(`${file} has no version of ${name} where it is looked for.`);
    writeFileSync(
      path,
      text.replace(pattern, (_, before, after) => before + versions.get(name) + after),
    );
  }
}

// The path may be written otherwise: through a link, or on Windows in other letters.
const [, started = ""] = process.argv;
if (
  existsSync(started) &&
  realpathSync.native(started) === realpathSync.native(fileURLToPath(import.meta.url))
) {
  const [program, given, options] = spawnArguments("pnpm", ["exec", "changeset", "version"]);
  const { status } = spawnSync(program, given, { ...options, cwd: root, stdio: "inherit" });
  if (status === 0) writeVersions(root);
  else process.exitCode = 1;
}
