// Writes what is published of each public package: the same files as in its folder, but the code that tsc wrote file by file
// is bundled. Each entry point is one file, and what several of them load is in shared ones, so that a class is the same
// class wherever it is imported from. Declarations stay as tsc writes them.
//   node scripts/publishable.mjs FOLDER    writes all of them below a folder, one in each
import { execFile } from "node:child_process";
import {
  cpSync,
  existsSync,
  mkdirSync,
  readFileSync,
  realpathSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { basename, dirname, isAbsolute, join, relative } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { rolldown } from "rolldown";
import { spawnArguments } from "./command-files.mjs";
import { publicPackages } from "./public-packages.mjs";

const ROOT = fileURLToPath(new URL("..", import.meta.url));
const BESIDE_THE_BUILD = ["README.md", "CHANGELOG.md", "LICENSE"];

/** Functions without state, which become part of what uses them, because each package and each file costs a cold start. */
const INLINED = new Set(["@countersign/protocol/json", "@countersign/protocol/options"]);

/** What almost every module needs anyway: it decides of no file of its own. Not core: a command that only prints needs none of it. */
const LIGHT = /^(?:#|@countersign\/protocol(?:\/|$))/;

/**
 * Writes a package as it is published. It must have been built.
 *
 * @param {string} folder - The package's folder in the repository.
 * @param {string} target - Where to write it.
 */
export async function writePublishable(folder, target) {
  const manifest = JSON.parse(readFileSync(join(folder, "package.json"), "utf8"));
  mkdirSync(target, { recursive: true });
  copyRest(folder, target, manifest);
  const files = codeFilesOf(manifest);
  const isInlined = (file) => INLINED.has(`${manifest.name}/${basename(file, ".js")}`);
  const inlined = files.filter(isInlined);
  if (inlined.length > 0) await writeBundle(folder, target, inlined);
  await writeBundle(
    folder,
    target,
    files.filter((file) => !isInlined(file)),
  );
  const { scripts: _, devDependencies: _own, ...published } = manifest;
  writeFileSync(
    join(target, "package.json"),
    `${JSON.stringify({ ...published, dependencies: withRanges(manifest.dependencies, folder) }, undefined, 2)}\n`,
  );
}

/** Writes entry points of a package, and what they share. */
async function writeBundle(folder, target, files) {
  const entries = files.map((file) => [basename(file, ".js"), join(folder, file)]);
  const bundle = await rolldown({
    input: Object.fromEntries(entries),
    platform: "node",
    // Other packages, Node's own modules, and names whose file is chosen where the code runs.
    external: (id) => !id.startsWith(".") && !isAbsolute(id) && !INLINED.has(id),
    // No entry point gets an export more; with the file names below, none needs one.
    preserveEntrySignatures: "allow-extension",
    treeshake: { moduleSideEffects: false },
    plugins: [{ name: "source-maps", load: withSourceMap }],
    logLevel: "warn",
  });
  await bundle.write({
    dir: join(target, "dist"),
    format: "esm",
    sourcemap: true,
    // As in the package, wherever this is run: users see these paths in their stack traces.
    sourcemapPathTransform: (source, map) =>
      relative(join(folder, "dist"), join(dirname(map), source)).replaceAll("\\", "/"),
    // Modules that look for files of their package stand in dist, and so does what they are bundled into.
    chunkFileNames: ({ name }) => `${name.startsWith("shared") ? "shared" : "[name]"}-[hash].js`,
    codeSplitting: {
      includeDependenciesRecursively: false,
      groups: [{ debugName: "shared", name: sharedByEntries(entries.map(([, file]) => file)) }],
    },
  });
  await bundle.close();
}

/**
 * Packs every public package as it is published. One npm packs all of them: it takes longer to start than to pack one.
 *
 * @param {string} target - An empty folder, for the packages and `tarballs`.
 * @returns {Promise<Map<string, string>>} the tarball of each package, by its name
 */
export async function packPublishable(target) {
  const packages = publicPackages();
  const folders = packages.map(({ name }) => join(target, name));
  await Promise.all(packages.map(({ folder }, index) => writePublishable(folder, folders[index])));
  const tarballs = join(target, "tarballs");
  mkdirSync(tarballs);
  const args = ["pack", "--pack-destination", tarballs, ...folders];
  const [program, given, options] = spawnArguments("npm", args);
  await promisify(execFile)(program, given, { cwd: target, ...options });
  return new Map(packages.map(({ manifest }) => [manifest.name, join(tarballs, tarballOf(manifest))]));
}

/** What npm calls a package's tarball. */
function tarballOf({ name, version }) {
  return `${name.replace("@", "").replace("/", "-")}-${version}.tgz`;
}

/**
 * Makes a folder in which the public packages are installed as they are published, so that what users load can be tried and
 * measured. What others have published is linked from the repository.
 *
 * @param {string} target - An empty folder.
 */
export async function installPublishable(target) {
  const packages = publicPackages();
  const names = new Set(packages.map(({ manifest }) => manifest.name));
  const installed = (name) => join(target, "node_modules", name);
  await Promise.all(
    packages.map(({ folder, manifest }) => writePublishable(folder, installed(manifest.name))),
  );
  for (const { folder, manifest } of packages) {
    const { dependencies, devDependencies, optionalDependencies } = manifest;
    for (const name of Object.keys({ ...devDependencies, ...dependencies, ...optionalDependencies })) {
      if (names.has(name) || existsSync(installed(name))) continue;
      mkdirSync(dirname(installed(name)), { recursive: true });
      // A junction needs no privilege on Windows; elsewhere it is a link like any other.
      symlinkSync(realpathSync(join(folder, "node_modules", name)), installed(name), "junction");
    }
  }
}

/**
 * Names the file of a module that several entry points load at once, or that one of them shares with what it imports on
 * demand. Each file takes longer to find than to read, so all that needs the same of others (packages, and Node) is in one
 * file. No entry point loads a package that it does not need, nor exports more than it should.
 *
 * @param {readonly string[]} entries
 */
function sharedByEntries(entries) {
  let reached;
  return (id, context) => {
    reached ??= entries.map((entry) => modulesBelow(entry, context));
    if (entries.includes(id)) return null;
    const users = reached.filter(({ atOnce }) => atOnce.has(id)).length;
    const isShared = users > 1 || (users === 1 && reached.some(({ onDemand }) => onDemand.has(id)));
    return isShared ? `shared-${modulesBelow(id, context).needs}` : null;
  };
}

/** The modules that a module loads at once, itself included, all that it may import later, and what it needs of others at once. */
function modulesBelow(module, context) {
  const [atOnce, onDemand, others] = [new Set(), new Set(), new Set()];
  const visit = (id, found) => {
    if (found.has(id)) return;
    found.add(id);
    const { importedIds, dynamicallyImportedIds } = context.getModuleInfo(id);
    for (const imported of importedIds) {
      if (isAbsolute(imported)) visit(imported, found);
      else if (found === atOnce && !LIGHT.test(imported)) others.add(imported.replace(/:.*/, ""));
    }
    for (const imported of dynamicallyImportedIds) if (isAbsolute(imported)) visit(imported, onDemand);
  };
  visit(module, atOnce);
  return { atOnce, onDemand, needs: [...others].toSorted().join("+") };
}

/** A file that tsc wrote, with its map, so that maps lead to the sources. */
function withSourceMap(path) {
  const map = existsSync(`${path}.map`) ? JSON.parse(readFileSync(`${path}.map`, "utf8")) : null;
  return { code: readFileSync(path, "utf8"), map };
}

/** The files that others load, from its manifest: entry points, commands, and what its own imports resolve to. */
function codeFilesOf({ exports, bin, imports }) {
  return [...new Set([exports, bin, imports].flatMap(textsIn))].filter((file) => file.endsWith(".js"));
}

function textsIn(value) {
  if (typeof value === "string") return [value];
  return Object.values(value ?? {}).flatMap(textsIn);
}

/** Copies everything else: declarations, files that are no code, and the documents. */
function copyRest(folder, target, { files }) {
  for (const file of [...files.filter((name) => !name.startsWith("!")), ...BESIDE_THE_BUILD]) {
    const from = join(folder, file);
    if (!existsSync(from)) continue;
    cpSync(from, join(target, file), { recursive: true, filter: (path) => !isCode(path) });
  }
  if (!existsSync(join(target, "LICENSE"))) cpSync(join(ROOT, "LICENSE"), join(target, "LICENSE"));
}

/** Whether tsc wrote a file, and its code is in the bundles. */
function isCode(path) {
  if (/\.tsbuildinfo$|\.js\.map$/.test(path)) return true;
  return path.endsWith(".js") && existsSync(path.replace(/\.js$/, ".d.ts"));
}

/** Dependencies with the ranges under which users install them: `workspace:^` is a range of the version beside it. */
function withRanges(dependencies, folder) {
  const versions = new Map(
    publicPackages(join(folder, "../..")).map(({ manifest }) => [manifest.name, manifest.version]),
  );
  return (
    dependencies &&
    Object.fromEntries(
      Object.entries(dependencies).map(([name, range]) => [
        name,
        range === "workspace:^" ? `^${versions.get(name)}` : range,
      ]),
    )
  );
}

// The path may be written otherwise: through a link, or on Windows in other letters.
const [, started = ""] = process.argv;
const own = realpathSync.native(fileURLToPath(import.meta.url));
if (existsSync(started) && realpathSync.native(started) === own) {
  const [target] = process.argv.slice(2);
  if (target === undefined) throw new Error("Usage: node scripts/publishable.mjs FOLDER");
  await Promise.all(publicPackages().map(({ name, folder }) => writePublishable(folder, join(target, name))));
}
