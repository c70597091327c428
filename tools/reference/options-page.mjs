import { readdirSync, readFileSync } from "node:fs";
import ts from "typescript";
import { table } from "./table.mjs";

/** Types whose fields are options or settings that a user writes. */
const IS_OPTIONS = /(?:Options|Settings|Policy|^Config)$/;

/**
 * The page of the options: those of every exported type that holds options, with the doc comment of each.
 *
 * @param root The repository, with a slash at its end.
 * @param problems Takes a line for each option without a doc comment.
 */
export function optionsPage(root, problems) {
  const packages = publicPackages(root);
  const program = ts.createProgram(
    packages.flatMap(({ entries }) => entries.map(({ file }) => file)),
    {
      module: ts.ModuleKind.NodeNext,
      moduleResolution: ts.ModuleResolutionKind.NodeNext,
      target: ts.ScriptTarget.ES2023,
      strict: true,
      skipLibCheck: true,
      noEmit: true,
      types: ["node"],
      typeRoots: [`${root}node_modules/@types`],
    },
  );
  const checker = program.getTypeChecker();
  const sections = packages.flatMap(({ name, entries, inReadme }) => {
    const types = new Map();
    for (const { file } of entries) {
      const module = checker.getSymbolAtLocation(program.getSourceFile(file));
      for (const exported of module === undefined ? [] : checker.getExportsOfModule(module)) {
        if (IS_OPTIONS.test(exported.name) && !types.has(exported.name)) types.set(exported.name, exported);
      }
    }
    const parts = [...types].toSorted().flatMap(([type, symbol]) => {
      const rows = rowsOf(checker, symbol, `${name}: ${type}`, problems, inReadme);
      return rows.length === 0 ? [] : [`### ${type}`, "", table(["option", "meaning", "default"], rows), ""];
    });
    return parts.length === 0 ? [] : [`## ${name}`, "", ...parts];
  });
  return [
    "# Options",
    "",
    "Every option of every package. The README of each package explains the usual ones with examples.",
    "",
    ...sections,
  ].join("\n");
}

function publicPackages(root) {
  return readdirSync(`${root}packages`).flatMap((folder) => {
    const {
      name,
      private: hidden,
      exports,
    } = JSON.parse(readFileSync(`${root}packages/${folder}/package.json`, "utf8"));
    if (hidden) return [];
    const entries = Object.values(exports)
      .flatMap(({ types }) => types ?? [])
      .map((types) => ({ file: `${root}packages/${folder}/${types.slice("./".length)}` }));
    return [
      { name, entries, inReadme: firstCells(readFileSync(`${root}packages/${folder}/README.md`, "utf8")) },
    ];
  });
}

/** The names in the first column of the tables of a README, in their order. */
function firstCells(readme) {
  return [...readme.matchAll(/^\|([^|]+)\|/gm)].flatMap(([, cell]) =>
    [...cell.matchAll(/`(\w+)`/g)].map(([, name]) => name),
  );
}

/** @param inReadme The names of options in the order of the README, which begins with what everybody needs. Others come last. */
function rowsOf(checker, exported, place, problems, inReadme) {
  const symbol = exported.flags & ts.SymbolFlags.Alias ? checker.getAliasedSymbol(exported) : exported;
  if (!(symbol.flags & (ts.SymbolFlags.Interface | ts.SymbolFlags.TypeAlias))) return [];
  const type = checker.getDeclaredTypeOfSymbol(symbol);
  // Of a union, the fields of all its members. What each member says of a field is about that member only.
  const texts = new Map();
  for (const member of type.isUnion() ? type.types : [type]) {
    for (const property of member.getProperties()) {
      const text = textOf(checker, property);
      if (text === "") problems.push(`${place}.${property.name} has no doc comment.`);
      texts.set(property.name, (texts.get(property.name) ?? new Set()).add(text));
    }
  }
  const positionOf = (name) => (inReadme.includes(name) ? inReadme.indexOf(name) : inReadme.length);
  const ordered = [...texts].toSorted(([one], [other]) => positionOf(one) - positionOf(other));
  return ordered.map(([name, said]) => {
    const parts = [...said].map((text) => text.split(/\s*Default: /));
    const values = new Set(parts.map(([, value = ""]) => value.replace(/(?<!\.\.)\.$/, "")));
    return [`\`${name}\``, parts.map(([meaning]) => meaning).join(" Or: "), [...values].join("; ")];
  });
}

/** The doc comment of an option in one line. A link leads to a name that is on the page. */
function textOf(checker, property) {
  return ts
    .displayPartsToString(property.getDocumentationComment(checker))
    .replaceAll(/\{@link\s+([^\s}]+)\s*\}/g, "`$1`")
    .replaceAll(/\s+/g, " ")
    .trim();
}
