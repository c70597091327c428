import { execFile } from "node:child_process";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { fileURLToPath } from "node:url";

const root = fileURLToPath(new URL("../..", import.meta.url));

/** Settings of the compiler for a program of its own, with files by their whole paths. */
export interface Project {
  readonly extends?: string;
  readonly compilerOptions: object;
  readonly files: readonly string[];
}

/**
 * Compiles projects by one start of a compiler, which then reads the types of libraries once.
 *
 * @param bin - The compiler's path from the root of the repository. Not the command in `node_modules/.bin`, which on Windows is one
 * for a shell.
 * @returns What it printed of all projects: an error is one text with the lines that explain it. Paths are from the root of the
 * repository.
 */
export async function compileProjects(bin: string, projects: readonly Project[]): Promise<string[]> {
  const folder = await mkdtemp(join(root, "tests/node_modules/.projects-"));
  try {
    // TypeScript 5.4 takes a project of declarations alone, from which nothing is made, for one that was built.
    const source = join(folder, "source.ts");
    await writeFile(source, "export {};\n");
    const configs = await Promise.all(
      projects.map(async (project, index) => {
        const config = join(folder, `${index}.json`);
        await writeFile(config, JSON.stringify({ ...project, files: [...project.files, source] }));
        return config;
      }),
    );
    return await runCompiler(bin, "-b", ...configs);
  } finally {
    await rm(folder, { recursive: true });
  }
}

function runCompiler(bin: string, ...args: readonly string[]): Promise<string[]> {
  return new Promise((resolve, reject) => {
    const all = [join(root, bin), ...args, "--pretty", "false"];
    execFile(process.execPath, all, { cwd: root, maxBuffer: 2 ** 26 }, (error, stdout, stderr) => {
      const output = stdout + stderr;
      // It says why it fails; what was not started, or was killed, says nothing.
      if (error !== null && output === "") reject(error);
      else resolve(output.split(/\n(?=\S)/).filter((text) => text.trim() !== ""));
    });
  });
}
