import { mkdirSync, statSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileMessageOf } from "@countersign/protocol";
import { StoreError } from "../store/store-error.ts";

/**
 * Makes the folder of a store's file, and those it is in, for their owner only.
 *
 * @throws StoreError `ERR_STORE_OPEN` when it cannot be made, or when the path is a folder itself
 */
export function makeFolderOf(path: string): void {
  if (isFolder(path)) {
    // As --data takes it.
    const file = join(path, "deliveries.db");
    throw new StoreError(
      "ERR_STORE_OPEN",
      `The store ${path} cannot be opened: it is a folder. Name a file in it, such as ${file}.`,
    );
  }
  const folder = dirname(path);
  try {
    makePrivateFolder(folder);
  } catch (cause) {
    const reason = fileMessageOf(cause);
    throw new StoreError(
      "ERR_STORE_OPEN",
      `The store ${path} cannot be opened: its folder ${folder} cannot be created. Check the path and its permissions, or create the folder. (${reason})`,
      cause,
    );
  }
}

/**
 * Makes a folder that is not there yet, and those it is in, for their owner only. `mkdir` with `recursive` does not do:
 * where folders cannot be made, as in /proc, that of Node 20 never returns.
 *
 * @throws Error of `mkdir` when it cannot be made
 * @example
 * ```ts
 * makePrivateFolder("/var/lib/shop/deliveries");
 * ```
 */
export function makePrivateFolder(path: string): void {
  if (isFolder(path)) return;
  const parent = dirname(path);
  if (parent !== path) makePrivateFolder(parent);
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
