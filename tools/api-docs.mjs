// The API reference.
//   node api-docs.mjs           writes it to docs/api, as Markdown for the site
//   node api-docs.mjs --check   fails where a public export has no doc comment, or a link leads nowhere
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { Application } from "typedoc";

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
if (isCheck && (app.logger.hasErrors() || app.logger.hasWarnings())) process.exit(1);
console.log(`${entryPoints.length} entry points, every public export documented`);
if (!isCheck) {
  // A module is called what users import: "sender/src/testing" is "@countersign/sender/testing".
  for (const module of project.children ?? []) {
    const [, folder, path = ""] = /^([^/]+)\/src(\/.+)?$/.exec(module.name) ?? [];
    const { name } = JSON.parse(readFileSync(`${root}packages/${folder}/package.json`, "utf8"));
    module.name = name + path;
  }
  await app.generateOutputs(project);
}
