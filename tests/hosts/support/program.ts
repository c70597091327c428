import { dirname } from "node:path";
import { tmpdir } from "node:os";
import { run } from "./run.ts";

/** The folder of a program that comes as an npm package. */
export async function programFolder(packageName: string, program: string): Promise<string> {
  const found = await run(`npx -y -p ${packageName} -c "command -v ${program}"`, { folder: tmpdir() });
  const path = found.split("\n").find((line) => line.startsWith("/"));
  if (path === undefined) throw new Error(`npx does not find ${program} in ${packageName}:\n${found}`);
  return dirname(path);
}
