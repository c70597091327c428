import { mkdir, mkdtemp, readdir, readFile, rm, symlink, writeFile } from "node:fs/promises";
import { join, relative } from "node:path";
import { pathToFileURL } from "node:url";
import { compileProjects, type Project } from "./compile-projects.ts";
import { FREE_NAMES } from "./doc-names.ts";
import { blocksOf, documents, root, sources } from "./documents.ts";

const packages = join(root, "packages");

/** A block of TypeScript in a doc comment or a README. */
export interface DocExample {
  /** Path from the root of the repository. */
  readonly file: string;
  /** The line its code begins on, counted from 1. */
  readonly line: number;
  readonly code: string;
}

/** Stands for the README and the guides of the repository, beside the names of packages. */
export const GUIDES = "guides";
/** Stands for the pages of the error codes. */
export const ERRORS = "errors";

/** Every block fenced as `ts` in the sources and the README of a package, in the {@link GUIDES}, or in the {@link ERRORS}. */
export function findExamples(name: string): readonly DocExample[] {
  return [...documents(), ...sources()]
    .filter((file) => groupOf(file) === name)
    .flatMap(blocksOf)
    .filter(({ language }) => language === "ts")
    .map(({ file, line, text }) => ({ file, line, code: text }));
}

function groupOf(file: string): string {
  if (file.startsWith("docs/errors/")) return ERRORS;
  const [, name] = /^packages\/([^/]+)\//.exec(file) ?? [];
  return name ?? GUIDES;
}

/**
 * Type-checks the examples of packages, each as a module of its own, as an app beside the package would be.
 *
 * An example may leave out the imports of its own package, and use the names that `doc-names.ts` declares for it.
 *
 * @param groups - The examples by the name of a package, {@link GUIDES} or {@link ERRORS}.
 * @returns What the compiler says, with the line of the example in its source.
 */
export async function typeCheck(groups: Readonly<Record<string, readonly DocExample[]>>): Promise<string[]> {
  const folders: string[] = [];
  try {
    const written = new Map<string, DocExample>();
    const projects: Project[] = [];
    for (const [name, examples] of Object.entries(groups)) {
      const folder = await makeFolder(name);
      folders.push(folder);
      const exported = await exportedNames(name);
      const files = examples.map((_, index) => join(folder, `${index}.ts`));
      for (const [index, example] of examples.entries()) {
        await writeFile(files[index] ?? "", asModule(example, exported));
        written.set(relative(root, files[index] ?? "").replaceAll("\\", "/"), example);
      }
      // An augmentation applies to a whole program, so it gets its own.
      const augmenting = files.filter((_, index) => /^declare module /m.test(examples[index]?.code ?? ""));
      const together = files.filter((file) => !augmenting.includes(file));
      for (const some of [together, ...augmenting.map((file) => [file])])
        projects.push(projectOf([...some, join(folder, "names.d.ts")]));
    }
    const lines = await compileProjects("node_modules/typescript/bin/tsc", projects);
    return lines.map((line) =>
      line.replace(/^(.+?)\((\d+),\d+\)/, (whole, path: string, row: string) => {
        const example = written.get(path);
        return example === undefined ? whole : `${example.file}:${row}`;
      }),
    );
  } finally {
    await Promise.all(folders.map((folder) => rm(folder, { recursive: true })));
  }
}

/** Makes the folder of a package's examples: in the package, so that what it depends on is found; in node_modules, where no tool looks. */
async function makeFolder(name: string): Promise<string> {
  const isPackage = name !== GUIDES && name !== ERRORS;
  const modules = join(isPackage ? join(packages, name) : join(root, "tests"), "node_modules");
  await mkdir(modules, { recursive: true });
  const folder = await mkdtemp(join(modules, ".doc-examples-"));
  await linkPackages(join(folder, "node_modules"));
  await writeFile(join(folder, "names.d.ts"), FREE_NAMES[name] ?? "");
  await writeFile(join(folder, "package.json"), JSON.stringify({ type: "module" }));
  return folder;
}

function projectOf(files: readonly string[]): Project {
  return {
    extends: join(root, "tsconfig.base.json"),
    compilerOptions: {
      composite: false,
      noEmit: true,
      declaration: false,
      declarationMap: false,
      isolatedDeclarations: false,
      sourceMap: false,
      inlineSources: false,
      // Stricter than what an app needs to be to copy an example.
      noImplicitReturns: false,
      experimentalDecorators: true,
      noPropertyAccessFromIndexSignature: false,
      typeRoots: [join(root, "node_modules/@types")],
    },
    files,
  };
}

async function linkPackages(modules: string): Promise<void> {
  await mkdir(join(modules, "@countersign"), { recursive: true });
  for (const folder of await readdir(packages)) {
    const { name } = await readManifest(folder);
    await symlink(join(packages, folder), join(modules, name), "junction");
  }
  // Apps choose their framework, their drivers and their test runner; the examples use those of our tests.
  await mkdir(join(modules, "@types"));
  for (const name of ["express", "@types/express", "ioredis"])
    await symlink(join(root, "tests/node_modules", name), join(modules, name), "junction");
  await symlink(join(root, "node_modules/vitest"), join(modules, "vitest"), "junction");
}

interface Manifest {
  readonly name: string;
  readonly exports?: Readonly<Record<string, string | { readonly default?: string }>>;
}

async function readManifest(folder: string): Promise<Manifest> {
  return JSON.parse(await readFile(join(packages, folder, "package.json"), "utf8")) as Manifest;
}

/** From the name of each export to the module that has it; of two, the package's main one. */
async function exportedNames(name: string): Promise<Map<string, string>> {
  if (name === GUIDES || name === ERRORS) return new Map();
  const folder = join(packages, name);
  const manifest = await readManifest(name);
  const names = new Map<string, string>();
  for (const [path, target] of Object.entries(manifest.exports ?? {}).toReversed()) {
    const file = typeof target === "string" ? target : target.default;
    if (file === undefined || !/\.m?js$/.test(file)) continue;
    const module = (await import(pathToFileURL(join(folder, file)).href)) as object;
    for (const exported of Object.keys(module)) names.set(exported, path.replace(/^\./, manifest.name));
  }
  return names;
}

/** The example as a module whose lines have the numbers they have in the source. */
function asModule({ line, code }: DocExample, exported: ReadonlyMap<string, string>): string {
  const lines = code.split("\n");
  for (const [index, text] of lines.entries()) {
    // A line that says that it does not compile is checked, by a directive that moves no line.
    if (index > 0 && text.endsWith("// does not compile")) lines[index - 1] += " /* @ts-expect-error */";
  }
  const lastImport = lines.findLastIndex((text) => /^import\b|^\} from "/.test(text));
  // A file of the reader's own is declared in doc-names.ts, by what is imported of it.
  const imports = lines.slice(0, lastImport + 1).map((text) => (/from "\.{1,2}\//.test(text) ? "" : text));
  const body = lines.slice(lastImport + 1).map((text) => text.replace(/^export (?:default )?/, ""));
  const declared = new Set(
    [...code.matchAll(/\b(?:const|let|function|class)\s+(?:(\w+)|\{([^}]*)\})/g)]
      .flatMap(([, single, several]) => (single === undefined ? (several ?? "").split(/\W+/) : [single]))
      .concat(imports.join(" ").split(/\W+/)),
  );
  const missing = [...exported].filter(
    ([name]) => !declared.has(name) && new RegExp(`(?<![.\\w])${name}\\b(?!:)`).test(code),
  );
  const added = missing.map(([name, module]) => `import { ${name} } from "${module}";`).join(" ");
  const before = Array.from({ length: line - 2 }, () => "");
  // A function, so that an example may await, and return as in the code it stands for; augmentation cannot be in one.
  const isAugmentation = body.some((text) => text.startsWith("declare "));
  const [open, close] = isAugmentation ? ["", ""] : ["async function example() {", "}"];
  return [...before, added, ...imports, open + (body[0] ?? ""), ...body.slice(1), close].join("\n");
}
