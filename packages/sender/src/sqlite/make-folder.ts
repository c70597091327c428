import { mkdirSync, statSync } from "node:fs";
import { dirname } from "node:path";
import { StoreError } from "../store/store-error.ts";

/**
 * Makes the folder of a store's file, and those it is in, for their owner only.
 *
 * @throws StoreError `ERR_STORE_OPEN` when it cannot be made
 */
export function makeFolderOf(path: string): void {
  const folder = dirname(path);
  try {
    makeFolder(folder);
  } catch (cause) {
    const reason = cause instanceof Error ? cause.message : String(cause);
    throw new StoreError(
      "ERR_STORE_OPEN",
      `The store ${path} cannot be opened: its folder ${folder} cannot be created. Check the path and its permissions, or create the folder. (${reason})`,
      cause,
    );
  }
}

/** Not `mkdirSync` with `recursive`: where folders cannot be made, as in /proc, that of Node 20 never returns. */
function makeFolder(path: string): void {
  if (isFolder(path)) return;
  const parent = dirname(path);
  if (parent !== path) makeFolder(parent);
  try {
    mkdirSync(path, { mode: 0o700 });
  } catch (error) {
    // Another process may have made it meanwhile.
    if (!isFolder(path)) throw error;
  }
}

function isFolder(path: string): boolean {
  try {
    return statSync(path).isDirectory();
  } catch {
    return false;
  }
}
