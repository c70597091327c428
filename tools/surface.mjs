// Records what each package exports: `packages/NAME/api.txt` lists every name of every entry with its declaration, read
// from the built types. So a change to what users see is a change to a file that is reviewed.
// It exits with 1 where an entry does not name the types of its package that its functions and values give, and where an
// option that may be left out does not take `undefined`.
//   node surface.mjs                       record
//   node surface.mjs --check               exit 1 and print the difference where a record is not what was built
//   node surface.mjs --check DIRECTORY     the same for another copy of the repository (the test that changes one)
import { existsSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { resolve } from "node:path";
import { fileURLToPath } from "node:url";
import ts from "typescript";

const options = process.argv.slice(2);
const isCheck = options.includes("--check");
const directory = options.find((option) => option !== "--check");
const folder =
  directory === undefined ? fileURLToPath(new URL("..", import.meta.url)) : `${resolve(directory)}/`;
/** With slashes, as the compiler writes the names of files on every system. */
const root = folder.replaceAll("\\", "/");
const printer = ts.createPrinter({ removeComments: true });

/** The public packages with the type files of their entries. */
const packages = readdirSync(`${root}packages`).flatMap((name) => {
  const folder = `${root}packages/${name}`;
  if (!existsSync(`${folder}/package.json`)) return [];
  const manifest = JSON.parse(readFileSync(`${folder}/package.json`, "utf8"));
  if (manifest.private) return [];
  const entries = Object.entries(manifest.exports)
    .filter(([, { types }]) => types !== undefined)
    .map(([path, { types }]) => ({
      name: manifest.name + path.slice(1),
      file: `${folder}/${types.slice("./".length)}`,
    }));
  return [{ name: manifest.name, folder, entries }];
});

const files = packages.flatMap(({ entries }) => entries.map(({ file }) => file));
const missing = files.filter((file) => !existsSync(file));
if (missing.length > 0) {
  console.error(`Not built: ${missing.join(", ")}. Run \`pnpm build\` first.`);
  process.exit(1);
}
const program = ts.createProgram(files, {
  module: ts.ModuleKind.NodeNext,
  moduleResolution: ts.ModuleResolutionKind.NodeNext,
  target: ts.ScriptTarget.ES2023,
  skipLibCheck: true,
  noEmit: true,
  types: ["node"],
  typeRoots: [`${root}node_modules/@types`],
});
const checker = program.getTypeChecker();

/** What a name stands for: its declarations, or the package that it comes from. */
function describe(exported, folder) {
  const symbol = resolved(exported);
  const declarations = symbol.declarations ?? [];
  const foreign = declarations.find((node) => !node.getSourceFile().fileName.startsWith(`${folder}/dist/`));
  if (declarations.length === 0) throw new Error(`${exported.name} of ${folder} has no declaration`);
  if (foreign !== undefined) {
    return [`export { ${exported.name} } from "${packageOf(foreign.getSourceFile().fileName)}";`];
  }
  return declarations.map((node) => textOf(node, exported.name, symbol.name));
}

function packageOf(file) {
  const own = packages.find(({ folder }) => file.startsWith(`${folder}/`));
  const [, name] = /.*\/node_modules\/((?:@[^/]+\/)?[^/]+)\//.exec(file) ?? [];
  if ((own?.name ?? name) === undefined) throw new Error(`${file} is in no package`);
  return own?.name ?? name;
}

/** A declaration without comments, `declare` and what is private. */
function textOf(declaration, name, ownName) {
  const node = ts.isVariableDeclaration(declaration) ? declaration.parent.parent : declaration;
  const text = printer
    .printNode(ts.EmitHint.Unspecified, node, node.getSourceFile())
    .split("\n")
    .filter((line) => !/^\s*(?:private |#private;)/.test(line))
    .join("\n")
    .replace(/^export (?:declare )?/, "");
  return name === ownName ? text : `${text} // exported as ${name}`;
}

/** The types of this package that a function or a value gives, and its entry does not name: no app could declare what it exports of them. */
function unnamedOf({ folder, entries }) {
  return entries.flatMap(({ name, file }) => {
    const exports = exportsOf(file);
    const named = new Set(exports.map(resolved));
    return exports.flatMap((exported) =>
      (resolved(exported).declarations ?? [])
        .filter((node) => ts.isFunctionDeclaration(node) || ts.isVariableDeclaration(node))
        .flatMap((node) => (node.type === undefined ? [] : typesNamedIn(node.type)))
        .filter((type) => isDeclaredIn(type, folder) && !named.has(type))
        .map((type) => `${name} exports ${exported.name}, and not the type that it gives: ${type.name}`),
    );
  });
}

/** Options that do not take `undefined`, and do not say so: with `exactOptionalPropertyTypes`, an app could not pass on what it may not have. */
function withoutUndefined({ name, entries }) {
  return entries.flatMap(({ file }) =>
    exportsOf(file)
      .filter((exported) => /(?:Options|Input)$/.test(exported.name))
      .flatMap((exported) => resolved(exported).declarations ?? [])
      .flatMap((node) => (ts.isInterfaceDeclaration(node) ? [...node.members] : []))
      .filter((member) => ts.isPropertySignature(member) && member.questionToken !== undefined)
      .filter((member) => !takesUndefined(member) && !/`undefined` is refused/.test(commentOf(member)))
      .map(
        (member) =>
          `${name}: ${member.parent.name.text}.${member.name.getText()} is optional, and does not take undefined`,
      ),
  );
}

function takesUndefined({ type }) {
  const types = type !== undefined && ts.isUnionTypeNode(type) ? type.types : [type];
  return types.some(
    ({ kind }) => kind === ts.SyntaxKind.UndefinedKeyword || kind === ts.SyntaxKind.UnknownKeyword,
  );
}

function commentOf(node) {
  return node
    .getFullText()
    .slice(0, node.getLeadingTriviaWidth())
    .replaceAll(/\s*\n\s*\*?\s*/g, " ");
}

function typesNamedIn(node) {
  const own = ts.isTypeReferenceNode(node) ? [checker.getSymbolAtLocation(node.typeName)] : [];
  const inner = [];
  node.forEachChild((child) => void inner.push(...typesNamedIn(child)));
  return [...own.filter((symbol) => symbol !== undefined).map(resolved), ...inner];
}

function isDeclaredIn({ flags, declarations = [] }, folder) {
  const isParameter = (flags & ts.SymbolFlags.TypeParameter) !== 0;
  return (
    !isParameter &&
    declarations.length > 0 &&
    declarations.every((node) => node.getSourceFile().fileName.startsWith(`${folder}/dist/`))
  );
}

function resolved(symbol) {
  return symbol.flags & ts.SymbolFlags.Alias ? checker.getAliasedSymbol(symbol) : symbol;
}

function exportsOf(file) {
  const module = checker.getSymbolAtLocation(program.getSourceFile(file));
  if (module === undefined) throw new Error(`${file} is no module`);
  return checker.getExportsOfModule(module);
}

function surfaceOf({ folder, entries }) {
  const parts = entries.map(({ name, file }) => {
    const exports = exportsOf(file).toSorted((a, b) => (a.name < b.name ? -1 : 1));
    const lines = exports.flatMap((exported) => describe(exported, folder));
    return `## ${name}: ${exports.length} names\n\n${lines.join("\n")}\n`;
  });
  return parts.join("\n");
}

/** The lines that only one of two texts has, in order. */
function difference(recorded, built) {
  const [before, after] = [recorded.split("\n"), built.split("\n")];
  return [
    ...before.filter((line) => !after.includes(line)).map((line) => `  - ${line}`),
    ...after.filter((line) => !before.includes(line)).map((line) => `  + ${line}`),
  ].join("\n");
}

const faults = new Set(packages.flatMap((pack) => [...unnamedOf(pack), ...withoutUndefined(pack)]));
for (const fault of faults) console.error(fault);

let changed = 0;
for (const pack of packages) {
  const file = `${pack.folder}/api.txt`;
  const built = surfaceOf(pack);
  const recorded = existsSync(file) ? readFileSync(file, "utf8") : "";
  if (built === recorded) continue;
  changed += 1;
  if (isCheck)
    console.error(`${file.slice(root.length)} is not what is exported:\n${difference(recorded, built)}`);
  else writeFileSync(file, built);
}
if (isCheck && changed > 0)
  console.error("If the change is intended, run `pnpm surface` and commit the files.");
const entryCount = packages.reduce((sum, { entries }) => sum + entries.length, 0);
console.log(
  `${packages.length} packages, ${entryCount} entries, ${changed} ${isCheck ? "differ" : "recorded anew"}`,
);
process.exit(faults.size > 0 || (isCheck && changed > 0) ? 1 : 0);
