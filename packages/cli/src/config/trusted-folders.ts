import { existsSync, realpathSync, statSync } from "node:fs";
import { homedir } from "node:os";
import path, { dirname, join, type PlatformPath } from "node:path";

const WORLD_WRITABLE = 0o002;

/**
 * The folders to search for a config file, from the first one upwards. The last one is the nearest with `.git`, else the topmost
 * one with a `package.json` that is below the home directory, else the first one.
 *
 * @param directory The folder to begin in, as an absolute path.
 * @param home The home directory. If the user has none, no folder counts as below it.
 */
export function searchedFolders(directory: string, home: string | undefined = homeFolder()): string[] {
  const upwards = [...ancestors(directory)];
  const repository = upwards.findIndex((folder) => existsSync(join(folder, ".git")));
  if (repository !== -1) return upwards.slice(0, repository + 1);
  const ofProject = upwards.findLastIndex(
    (folder) => home !== undefined && isBelow(folder, home) && existsSync(join(folder, "package.json")),
  );
  return upwards.slice(0, Math.max(ofProject, 0) + 1);
}

/** A container may run a process under any user id. If the system does not know it and HOME is not set, `homedir()` throws. */
function homeFolder(): string | undefined {
  try {
    return homedir();
  } catch {
    return undefined;
  }
}

/**
 * Whether a folder is in another one, at any depth.
 *
 * @param rules How the system writes paths. On Windows `c:\Users` is `C:\users`: editors start terminals in the former.
 */
export function isBelow(folder: string, above: string, rules: PlatformPath = path): boolean {
  const way = rules.relative(above, folder);
  return way !== "" && way.split(rules.sep)[0] !== ".." && !rules.isAbsolute(way);
}

function* ancestors(directory: string): Generator<string> {
  yield directory;
  const parent = dirname(directory);
  if (parent !== directory) yield* ancestors(parent);
}

/**
 * Why a file must not be run: someone other than this user and root may have written it, or put it there.
 *
 * @param uid The user that would run it.
 */
export function trustProblem(file: string, uid: number): string | undefined {
  const real = realpathSync(file);
  for (const path of new Set([real, dirname(real), dirname(file)])) {
    const { uid: owner, mode } = statSync(path);
    if (owner !== uid && owner !== 0) return `${path} belongs to another user`;
    if ((mode & WORLD_WRITABLE) !== 0) return `everyone may write to ${path}`;
  }
  return undefined;
}
