import { execFile } from "node:child_process";
import { mkdir, mkdtemp, readdir, readFile, rm, symlink, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
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
 * Type-checks the examples of a package, each as a module of its own, as an app beside the package would be.
 *
 * An example may leave out the imports of its own package, and use the names that `doc-names.ts` declares for it.
 *
 * @returns What the compiler says, with the line of the example in its source.
 */
export async function typeCheck(name: string, examples: readonly DocExample[]): Promise<string[]> {
  // An augmentation applies to a whole program, so it gets its own.
  const isAugmentation = ({ code }: DocExample): boolean => /^declare module /m.test(code);
  const groups = [
    examples.filter((example) => !isAugmentation(example)),
    ...examples.filter(isAugmentation).map((example) => [example]),
  ].filter((group) => group.length > 0);
  const errors: string[] = [];
  for (const group of groups) errors.push(...(await typeCheckTogether(name, group)));
  return errors;
}

async function typeCheckTogether(name: string, examples: readonly DocExample[]): Promise<string[]> {
  const isPackage = name !== GUIDES && name !== ERRORS;
  const modules = join(isPackage ? join(packages, name) : join(root, "tests"), "node_modules");
  await mkdir(modules, { recursive: true });
  // Inside of the package, so that what the package depends on is found; in node_modules, so that no tool looks there.
  const project = await mkdtemp(join(modules, ".doc-examples-"));
  try {
    await linkPackages(join(project, "node_modules"));
    const exported = await exportedNames(name);
    const files = await Promise.all(
      examples.map(async (example, index) => {
        const file = `${index}.ts`;
        await writeFile(join(project, file), asModule(example, exported));
        return file;
      }),
    );
    await writeFile(join(project, "names.d.ts"), FREE_NAMES[name] ?? "");
    await writeFile(join(project, "package.json"), JSON.stringify({ type: "module" }));
    await writeFile(
      join(project, "tsconfig.json"),
      JSON.stringify({
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
        files: [...files, "names.d.ts"],
      }),
    );
    const output = await compile(project);
    return output.map((line) =>
      line.replace(/^(?:.*[\\/])?(\d+)\.ts\((\d+),\d+\)/, (_, index: string, row: string) => {
        return `${examples[Number(index)]?.file}:${row}`;
      }),
    );
  } finally {
    await rm(project, { recursive: true });
  }
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

/** The compiler's errors, one a line. */
async function compile(project: string): Promise<string[]> {
  // Not the command in node_modules/.bin, which on Windows is one for a shell.
  const compiler = join(root, "node_modules/typescript/bin/tsc");
  const output = await new Promise<string>((resolve, reject) => {
    execFile(process.execPath, [compiler, "-p", project, "--pretty", "false"], (error, stdout, stderr) => {
      if (error !== null && stdout + stderr === "") reject(error);
      else resolve(stdout + stderr);
    });
  });
  return output.split("\n").filter((line) => line !== "");
}
