// The API reference.
//   node api-docs.mjs           writes it to docs/api, as Markdown for the site
//   node api-docs.mjs --check   the same, and fails where a public export has no doc comment, or a link leads nowhere
// What was written without a warning is not written again until something differs that it is made of: it takes a compiler's time.
// Remove docs/api to have it written all the same.
import { createHash } from "node:crypto";
import { existsSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { fileURLToPath } from "node:url";

// With slashes: entry points are patterns, in which a backslash means something else.
const root = fileURLToPath(new URL("..", import.meta.url)).replaceAll("\\", "/");
const isCheck = process.argv.includes("--check");
const entryPoints = readdirSync(`${root}packages`).flatMap((name) => {
  const { exports, private: hidden } = JSON.parse(
    readFileSync(`${root}packages/${name}/package.json`, "utf8"),
  );
  if (hidden) return [];
  return Object.values(exports)
    .flatMap(({ types }) => types ?? [])
    .map((types) => `${root}packages/${name}/${types.replace("./dist/", "src/").replace(".d.ts", ".ts")}`)
    .filter((file) => existsSync(file));
});

/** A digest of all that the reference is made of: the sources, the types that packages see of each other, this script and its tools. */
function digestOfInputs() {
  const folders = readdirSync(`${root}packages`).flatMap((name) =>
    ["src", "dist"].map((part) => `packages/${name}/${part}`),
  );
  const sources = folders
    .filter((folder) => existsSync(root + folder))
    .flatMap((folder) =>
      readdirSync(root + folder, { recursive: true, encoding: "utf8" })
        .filter((file) => /\.tsx?$/.test(file))
        .map((file) => `${folder}/${file}`),
    );
  const manifests = readdirSync(`${root}packages`).map((name) => `packages/${name}/package.json`);
  const tools = [
    "tools/api-docs.mjs",
    "tools/tsconfig.api-docs.json",
    "tsconfig.base.json",
    "pnpm-lock.yaml",
  ];
  const hash = createHash("sha256");
  for (const file of [...sources.toSorted(), ...manifests, ...tools])
    hash.update(`${file}\n`).update(readFileSync(root + file));
  return hash.digest("hex");
}

const stamp = `${root}docs/api/.digest`;
const digest = digestOfInputs();
if (existsSync(stamp) && readFileSync(stamp, "utf8") === digest) {
  console.log(`${entryPoints.length} entry points, as they were when docs/api was written`);
  process.exit();
}

const { Application } = await import("typedoc");
const app = await Application.bootstrapWithPlugins({
  name: "Countersign",
  entryPoints,
  tsconfig: `${root}tools/tsconfig.api-docs.json`,
  // Packages see each other through their published types, which are not part of this program.
  externalSymbolLinkMappings: { "@countersign/core": { "*": "#" }, "@countersign/sender": { "*": "#" } },
  plugin: ["typedoc-plugin-markdown"],
  out: `${root}docs/api`,
  // Pages are named after what they describe, and the site shows the way to them.
  readme: "none",
  entryFileName: "index",
  outputFileStrategy: "modules",
  useHTMLAnchors: true,
  hideBreadcrumbs: true,
  hidePageHeader: true,
  useCodeBlocks: true,
  parametersFormat: "table",
  interfacePropertiesFormat: "table",
  expandObjects: true,
  disableSources: true,
  excludeInternal: true,
  excludePrivate: true,
  skipErrorChecking: false,
  validation: { notExported: true, invalidLink: true, notDocumented: true, invalidPath: true },
  requiredToBeDocumented: ["Class", "Function", "Interface", "TypeAlias", "Variable", "Enum"],
  intentionallyNotExported: [],
  treatWarningsAsErrors: isCheck,
  logLevel: "Warn",
});
const project = await app.convert();
if (project === undefined) process.exit(1);
app.validate(project);
const isRight = () => !app.logger.hasErrors() && !app.logger.hasWarnings();
if (isCheck && !isRight()) process.exit(1);
console.log(`${entryPoints.length} entry points, every public export documented`);
// A module is called what users import: "sender/src/testing" is "@countersign/sender/testing".
for (const module of project.children ?? []) {
  const [, folder, path = ""] = /^([^/]+)\/src(\/.+)?$/.exec(module.name) ?? [];
  const { name } = JSON.parse(readFileSync(`${root}packages/${folder}/package.json`, "utf8"));
  module.name = name + path;
}
await app.generateOutputs(project);
if (isRight()) writeFileSync(stamp, digest);
else if (isCheck) process.exitCode = 1;
